//! The header `Idempotency-Key`: a call with it runs once, however often it is sent.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::Response;
use overnight_app::errors::AppError;
use overnight_app::idempotency::{Answered, Repeatable};
use overnight_domain::faults::codes;
use sha2::{Digest, Sha256};

use super::answers;
use super::context::Shared;
use super::errors::Refusal;

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
const IDEMPOTENT_REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");

/// The longest key, in bytes.
const KEY_BYTES_MAX: usize = 255;

/// Identifies a call of an account by its method, path and key, if it carries one.
#[derive(Clone)]
pub(super) struct CallName(Option<Sha256>);

impl FromRequestParts<Shared> for CallName {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _: &Shared) -> Result<Self, Refusal> {
        let Some(key) = parts.headers.get(&IDEMPOTENCY_KEY) else { return Ok(Self(None)) };
        if !is_key(key.as_bytes()) {
            let message = format!("must have 1 to {KEY_BYTES_MAX} visible ASCII characters");
            return Err(AppError::invalid("Idempotency-Key", codes::OUT_OF_RANGE, &message).into());
        }
        let path = parts.uri.path();
        let head = format!("{} {}\n", parts.method, path.strip_suffix('/').unwrap_or(path));
        Ok(Self(Some(Sha256::new_with_prefix(head).chain_update(key.as_bytes()))))
    }
}

impl CallName {
    /// Whether the call carries a key.
    pub(super) const fn is_some(&self) -> bool {
        self.0.is_some()
    }

    /// `None` if the call carries no key.
    pub(super) fn hash(&self) -> Option<[u8; 32]> {
        Some(self.0.clone()?.finalize().into())
    }

    /// The name of a line of the call's body.
    pub(super) fn of_line(&self, number: u64) -> Self {
        Self(self.0.as_ref().map(|hash| hash.clone().chain_update(format!("\n{number}"))))
    }

    /// For the use case; `write` appends the body of the answer.
    pub(super) fn repeatable<T>(&self, write: fn(&T, &mut Vec<u8>)) -> Option<Repeatable<T>> {
        Some(Repeatable { hash: self.hash()?, write })
    }
}

/// The answer to a call that may be a repeat.
pub(super) fn answer<T>(status: StatusCode, answered: &Answered<T>, write: fn(&T, &mut Vec<u8>)) -> Response {
    match answered {
        Answered::New(done) => answers::json(status, |out| write(done, out)),
        Answered::Repeat(body) => {
            let mut response = answers::json(status, |out| out.extend_from_slice(body));
            mark_repeat(&mut response);
            response
        }
    }
}

/// Marks the answer of a repeated call.
pub(super) fn mark_repeat(response: &mut Response) {
    response.headers_mut().insert(IDEMPOTENT_REPLAYED, HeaderValue::from_static("true"));
}

fn is_key(key: &[u8]) -> bool {
    (1..=KEY_BYTES_MAX).contains(&key.len()) && key.iter().all(u8::is_ascii_graphic)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_1_to_255_visible_characters() {
        for (key, expected) in
            [("", false), ("a", true), ("a b", false), ("a\n", false), ("é", false), ("0f-~!", true)]
        {
            assert_eq!(is_key(key.as_bytes()), expected, "{key:?}");
        }
        assert!(is_key(&[b'x'; 255]) && !is_key(&[b'x'; 256]));
    }
}
