use std::fmt::Write as _;
use std::ops::Deref;

use axum::extract::{FromRequest, Request};
use axum::http::header;
use overnight_domain::forms;
pub(super) use overnight_domain::forms::TOKEN;

use overnight_app::idempotency::FormKey;

use super::replies::PageError;
use overnight_http::bodies::{self, Buffers};
use overnight_http::context::Shared;

/// Enough for any form without prompts.
const FORM_BYTES_MAX: usize = 64 << 10;

pub(super) struct Form(forms::Form);

impl Deref for Form {
    type Target = forms::Form;

    fn deref(&self) -> &forms::Form {
        &self.0
    }
}

/// The token of a page's forms, from random bits.
pub(super) fn token(bits: &[u8; 32]) -> String {
    bits.iter().fold(String::with_capacity(64), |mut text, byte| {
        // Writing to memory cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The key of a submission of a form on `page`.
pub(super) fn key<'f>(page: &str, fields: impl IntoIterator<Item = (&'f str, &'f str)>) -> Option<FormKey> {
    forms::key(page, fields).map(FormKey)
}

impl Form {
    /// The key of a submission of this form on `page`.
    pub(super) fn key(&self, page: &str) -> Option<FormKey> {
        self.0.key(page).map(FormKey)
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
        Ok(Self(forms::Form::decode(&bytes)))
    }
}
