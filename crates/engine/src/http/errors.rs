//! Errors in OpenAI's envelope.

use axum::{
    Json,
    extract::rejection::BytesRejection,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde_json::json;

use super::BODY_BYTES_MAX;
use crate::{
    api::Refusal, constraint::Undecided, model::DecodeFailed, scheduler::Failure, template::Unrendered,
};

#[derive(Debug)]
pub(super) struct ApiError {
    status: StatusCode,
    message: String,
    code: Option<&'static str>,
    param: Option<String>,
}

impl ApiError {
    pub(super) fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self { status, message: message.into(), code: Some(code), param: None }
    }

    pub(super) fn loading() -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "loading", "The model is loading.")
    }

    pub(super) fn ending() -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "ending", "The engine is ending.")
    }

    pub(super) fn full() -> Self {
        Self::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "engine_full",
            "The engine holds as many requests as it can.",
        )
    }

    pub(super) fn too_large() -> Self {
        let message = format!("A body has at most {BODY_BYTES_MAX} bytes.");
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", message)
    }

    pub(super) fn wrong_key() -> Self {
        let message = "Authorization: Bearer with this engine's key is needed.";
        Self::new(StatusCode::UNAUTHORIZED, "invalid_api_key", message)
    }

    pub(super) fn unknown_model(asked: &str, served: &str) -> Self {
        let message = format!("The model {asked:?} is not served here; {served:?} is.");
        let error = Self::new(StatusCode::NOT_FOUND, "model_not_found", message);
        Self { param: Some("model".to_owned()), ..error }
    }

    /// The model does not serve this endpoint, but `served`.
    pub(super) fn other_endpoint(purpose: &str, served: &str) -> Self {
        let message = format!("This is {purpose}: it answers at {served} only.");
        Self::new(StatusCode::NOT_FOUND, "unsupported_endpoint", message)
    }

    pub(super) fn unreadable(rejection: &BytesRejection) -> Self {
        match rejection.status() {
            StatusCode::PAYLOAD_TOO_LARGE => Self::too_large(),
            _ => Self::new(StatusCode::BAD_REQUEST, "unreadable_body", "The body could not be read."),
        }
    }

    pub(super) fn broken() -> Self {
        Self::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "engine_error",
            "The engine could not finish this request.",
        )
    }
}

impl From<Refusal> for ApiError {
    fn from(refusal: Refusal) -> Self {
        let Refusal { message, code, param } = refusal;
        Self { status: StatusCode::BAD_REQUEST, message, code, param }
    }
}

impl From<Failure> for ApiError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Form(unkept) => Refusal::from(unkept).into(),
            Failure::Decode(failed) => failed.into(),
        }
    }
}

impl From<Undecided> for ApiError {
    fn from(undecided: Undecided) -> Self {
        match undecided {
            Undecided::Refused(unkept) => Refusal::from(unkept).into(),
            Undecided::Busy => Self::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "engine_full",
                "The machine is too busy to check the form.",
            ),
            Undecided::NotStarted(_) | Undecided::Broken => {
                tracing::error!(%undecided, "check form");
                Self::broken()
            }
        }
    }
}

impl From<Unrendered> for ApiError {
    fn from(unrendered: Unrendered) -> Self {
        match unrendered {
            Unrendered::TooComplex => {
                let message = "The conversation is too complex for the model's chat template.";
                let refusal = Refusal::of("messages", message);
                Refusal { code: Some("conversation_too_complex"), ..refusal }.into()
            }
            Unrendered::Refused(words) => {
                let message = format!("The model's chat template refuses the conversation: {words}.");
                Refusal::of("messages", message).into()
            }
            Unrendered::Busy => Self::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "engine_full",
                "The machine is too busy to render the chat template.",
            ),
            Unrendered::Broken(_) => {
                tracing::error!(%unrendered, "render chat template");
                Self::broken()
            }
        }
    }
}

impl From<DecodeFailed> for ApiError {
    fn from(failed: DecodeFailed) -> Self {
        Self { message: failed.to_string(), ..Self::broken() }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let kind = if self.status.is_server_error() { "server_error" } else { "invalid_request_error" };
        let error = json!({ "message": self.message, "type": kind, "param": self.param, "code": self.code });
        let mut response = (self.status, Json(json!({ "error": error }))).into_response();
        let header = match self.status {
            StatusCode::SERVICE_UNAVAILABLE => Some((header::RETRY_AFTER, HeaderValue::from_static("1"))),
            StatusCode::UNAUTHORIZED => Some((header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"))),
            _ => None,
        };
        response.headers_mut().extend(header);
        response
    }
}

pub(super) async fn unknown_path() -> ApiError {
    ApiError::new(StatusCode::NOT_FOUND, "not_found", "There is nothing at this path.")
}

pub(super) async fn wrong_method() -> ApiError {
    ApiError::new(
        StatusCode::METHOD_NOT_ALLOWED,
        "method_not_allowed",
        "This path does not take this method.",
    )
}
