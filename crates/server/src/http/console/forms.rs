//! What a form sends.

use axum::extract::{FromRequest, Request};
use axum::http::header;

use super::replies::PageError;
use crate::http::bodies::{self, Buffers};
use crate::http::context::Shared;

/// Longer than any form but that of prompts.
const FORM_BYTES_MAX: usize = 64 << 10;

/// The fields of a form, in the order sent.
pub(super) struct Form(Vec<(String, String)>);

impl Form {
    /// A field without white space around it; empty where it is not there.
    pub(super) fn get(&self, name: &str) -> &str {
        self.raw(name).trim()
    }

    /// A field as it was sent; empty where it is not there.
    pub(super) fn raw(&self, name: &str) -> &str {
        self.0.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
    }

    /// A field that was filled in.
    pub(super) fn filled(&self, name: &str) -> Option<&str> {
        Some(self.get(name)).filter(|value| !value.is_empty())
    }
}

impl FromRequest<Shared> for Form {
    type Rejection = PageError;

    async fn from_request(request: Request, context: &Shared) -> Result<Self, PageError> {
        let (parts, body) = request.into_parts();
        let kind = parts.headers.get(header::CONTENT_TYPE).map(|kind| kind.as_bytes()).unwrap_or_default();
        if !kind.is_empty() && !kind.starts_with(b"application/x-www-form-urlencoded") {
            return Err(PageError::Unreadable("The form came in a shape that is not read.".into()));
        }
        let bytes = bodies::read(body, FORM_BYTES_MAX, Buffers::of(&parts, context))
            .await
            .map_err(|_| PageError::Unreadable("The form did not come whole.".into()))?;
        Ok(Self(url::form_urlencoded::parse(&bytes).into_owned().collect()))
    }
}
