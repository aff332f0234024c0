//! The lines of a file: each asks for one request, in the form of OpenAI's batch files. Lines of a batch of messages have params as their
//! body.

use std::borrow::Cow;

use overnight_domain::endpoints::Endpoint;
use overnight_domain::faults::{Fault, Faults, Quoted, codes};
use overnight_domain::files::BatchEndpoint;
use overnight_domain::json::{Json, JsonText, Kind, ObjectWriter, RawObject};
use overnight_wire::anthropic::{Origins, to_chat_in_batch};

use overnight_wire::openai::responses::chat_call;

use crate::errors::{AppError, InputFault, InvalidInput};
use crate::requests::{RefusedRequest, Reviewed, review_text};
use crate::{Services, failures, input, messages};

/// The longest `custom_id`, in bytes.
const CUSTOM_ID_BYTES_MAX: usize = 512;

/// The name in a line and in the metadata that keeps it.
const CUSTOM_ID: &str = "custom_id";

/// Codes of faults, spelled as OpenAI spells them if it has them.
pub(super) mod line_codes {
    pub(in crate::files) const INVALID_JSON: &str = "invalid_json_line";
    pub(in crate::files) const MISSING: &str = "missing_required_parameter";
    pub(in crate::files) const INVALID_METHOD: &str = "invalid_method";
    pub(in crate::files) const INVALID_URL: &str = "invalid_url";
    pub(in crate::files) const MODEL_NOT_FOUND: &str = "model_not_found";
    pub(in crate::files) const MODEL_RETIRED: &str = "model_retired";
    pub(in crate::files) const INVALID_REQUEST: &str = "invalid_request";
    pub(in crate::files) const INVALID_CUSTOM_ID: &str = "invalid_custom_id";
    pub(in crate::files) const DUPLICATE_CUSTOM_ID: &str = "duplicate_custom_id";
    pub(in crate::files) const MISMATCHED_URL: &str = "mismatched_url";
    pub(in crate::files) const TOO_LARGE: &str = "request_too_large";
}

/// Why a line creates no request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LineFault {
    pub(crate) code: &'static str,
    pub(crate) message: String,
    pub(crate) param: Option<String>,
}

pub(crate) struct Line {
    pub(crate) custom_id: String,
    pub(crate) endpoint: BatchEndpoint,
    pub(crate) asked: Asked,
}

pub(crate) enum Asked {
    Answer(Reviewed),
    /// The request itself is refused.
    Refusal(RefusedRequest),
}

fn fault(code: &'static str, param: &str, message: &str) -> LineFault {
    let param = (!param.is_empty()).then(|| param.to_owned());
    let message = match &param {
        Some(param) => format!("{param} {message}"),
        None => message.to_owned(),
    };
    LineFault { code, message, param }
}

/// Reads a line that is within the limit of a request's body; `parse` reads its endpoint, and it arrived at `asked_at`, in milliseconds.
/// Fails with the first fault.
pub(crate) fn read(
    services: &Services,
    line: &[u8],
    parse: fn(&str) -> Option<BatchEndpoint>,
    asked_at: i64,
) -> Result<Line, LineFault> {
    let text = input::read(line).map_err(|error| LineFault {
        code: line_codes::INVALID_JSON,
        message: error.to_string().replacen("the body", "the line", 1),
        param: None,
    })?;
    let object = text
        .as_json()
        .to_object()
        .ok_or_else(|| fault(line_codes::INVALID_JSON, "", "the line must be a JSON object"))?;
    if let Some(key) = object.duplicate_keys().first() {
        let param = Quoted(key).to_string();
        return Err(fault(line_codes::INVALID_JSON, &param, "stands more than once in the line"));
    }
    let custom_id = string(&object, CUSTOM_ID)?;
    if custom_id.is_empty() || custom_id.len() > CUSTOM_ID_BYTES_MAX {
        let message = format!("must have 1 to {CUSTOM_ID_BYTES_MAX} bytes");
        return Err(fault(line_codes::INVALID_CUSTOM_ID, CUSTOM_ID, &message));
    }
    if string(&object, "method")? != "POST" {
        return Err(fault(line_codes::INVALID_METHOD, "method", "must be \"POST\""));
    }
    let url = string(&object, "url")?;
    let endpoint = parse(&url).ok_or_else(|| {
        let known = BatchEndpoint::ALL.map(BatchEndpoint::as_str).join(", ");
        fault(line_codes::INVALID_URL, "url", &format!("must be one of {known}, not '{}'", Quoted(&url)))
    })?;
    let body = object.get("body").filter(|body| body.kind() == Kind::Object);
    let body = body.ok_or_else(|| fault(line_codes::MISSING, "body", "must be there, as an object"))?;
    let custom_id = custom_id.into_owned();
    let review = |endpoint, (body, sent): (Json<'_>, Option<Json<'_>>)| {
        let text = create_body(body, &metadata(sent, &custom_id));
        review_text(services, endpoint, &text, asked_at).map_err(in_line)
    };
    let asked = match endpoint {
        BatchEndpoint::ChatCompletions | BatchEndpoint::Completions | BatchEndpoint::Embeddings => {
            Asked::Answer(review(endpoint.of_request(), (body, None))?)
        }
        BatchEndpoint::Responses => {
            let call = chat_call(body).map_err(in_body)?;
            let sent = call.metadata.as_ref().map(JsonText::as_json);
            let sent = (call.body.as_json(), sent);
            Asked::Answer(review(endpoint.of_request(), sent)?)
        }
        BatchEndpoint::Messages => read_message(services, body, &custom_id, asked_at)?,
    };
    Ok(Line { custom_id, endpoint, asked })
}

/// Converts the params of a message.
fn read_message(
    services: &Services,
    params: Json<'_>,
    custom_id: &str,
    asked_at: i64,
) -> Result<Asked, LineFault> {
    let metadata = metadata(None, custom_id);
    let chat = to_chat_in_batch(params).map_err(AppError::from);
    let review = |chat: JsonText| {
        let text = create_body(chat.as_json(), &metadata);
        review_text(services, Endpoint::ChatCompletions, &text, asked_at)
    };
    let reviewed = chat.and_then(review);
    let invalid = match reviewed {
        Ok(reviewed) => return Ok(Asked::Answer(reviewed)),
        Err(AppError::Invalid(invalid)) => invalid,
        Err(error) => return Err(in_line(error)),
    };
    let failure = failures::refused_body(&messages::words(&Origins::of(params), &invalid));
    let refused = RefusedRequest::new(services, params, metadata, failure);
    let no_models = || fault(line_codes::MODEL_NOT_FOUND, "model", "is none that is offered: there are none");
    refused.map(Asked::Refusal).ok_or_else(no_models)
}

fn create_body(body: Json<'_>, metadata: &JsonText) -> JsonText {
    let mut create = ObjectWriter::with_capacity(body.as_str().len() + 128);
    create.json("request_body", body);
    create.json("metadata", metadata.as_json());
    create.finish()
}

/// The metadata of a line with its `custom_id`, so that every dialect finds it there.
fn metadata(sent: Option<Json<'_>>, custom_id: &str) -> JsonText {
    let mut metadata = ObjectWriter::with_capacity(custom_id.len() + 32);
    let sent = sent.and_then(Json::members).into_iter().flatten();
    for member in sent.filter(|member| member.key() != CUSTOM_ID) {
        metadata.copy(member.raw_key, member.value);
    }
    metadata.string(CUSTOM_ID, custom_id);
    metadata.finish()
}

fn string<'j>(object: &RawObject<'j>, key: &str) -> Result<Cow<'j, str>, LineFault> {
    let value = object.get(key).and_then(Json::decode_string);
    value.ok_or_else(|| fault(line_codes::MISSING, key, "must be there, as a string"))
}

/// The first fault of a body that is not a chat completion.
fn in_body(faults: Faults) -> LineFault {
    let fault = faults.into_kept().into_iter().next();
    let (param, message) = fault.map_or_else(
        || ("body".to_owned(), "is invalid".to_owned()),
        |Fault { param, message, .. }| (format!("body.{param}"), message),
    );
    self::fault(line_codes::INVALID_REQUEST, &param, &message)
}

/// The first fault of a request, worded for its line.
fn in_line(error: AppError) -> LineFault {
    let AppError::Invalid(InvalidInput { details, .. }) = error else {
        return fault(line_codes::INVALID_REQUEST, "", &error.to_string());
    };
    let Some(InputFault { param, code, message, .. }) = details.into_iter().next() else {
        return fault(line_codes::INVALID_REQUEST, "body", "is invalid");
    };
    let code = match (&*param, code) {
        ("request_body.model", codes::UNKNOWN_VALUE) => line_codes::MODEL_NOT_FOUND,
        (_, codes::MODEL_RETIRED) => line_codes::MODEL_RETIRED,
        (_, codes::MISSING) => line_codes::MISSING,
        _ => line_codes::INVALID_REQUEST,
    };
    let rename = |text: &str| text.replacen("request_body", "body", 1);
    LineFault { code, message: rename(&message), param: Some(rename(&param)) }
}
