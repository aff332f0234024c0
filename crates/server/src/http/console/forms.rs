//! What a form sends.

use std::fmt::Write as _;

use axum::extract::{FromRequest, Request};
use axum::http::header;
use sha2::{Digest, Sha256};

use super::replies::PageError;
use crate::app::idempotency::FormKey;
use crate::http::bodies::{self, Buffers};
use crate::http::context::Shared;

/// The field in which a page names its forms.
pub(super) const TOKEN: &str = "once";

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

/// What a page names its forms by, of random bits.
pub(super) fn token(bits: &[u8; 32]) -> String {
    bits.iter().fold(String::with_capacity(64), |mut text, byte| {
        // Writing to memory cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// What names the sending of a form on `page`, in its account, with all that was filled in: another content is another sending. `None`
/// where the form says no name.
pub(super) fn key<'f>(page: &str, fields: impl IntoIterator<Item = (&'f str, &'f str)>) -> Option<FormKey> {
    let mut sum = Sha256::new_with_prefix(format!("console {page}"));
    let mut is_named = false;
    for (name, value) in fields {
        is_named |= name == TOKEN && !value.is_empty();
        for text in [name, value] {
            sum.update((text.len() as u64).to_le_bytes());
            sum.update(text);
        }
    }
    is_named.then(|| FormKey(sum.finalize().into()))
}

impl Form {
    /// What names the sending of this form on `page`.
    pub(super) fn key(&self, page: &str) -> Option<FormKey> {
        key(page, self.0.iter().map(|(name, value)| (&**name, &**value)))
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
