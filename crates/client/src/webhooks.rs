//! What a webhook of yours receives: its signature checked, and read.
//!
//! ```
//! use std::time::{SystemTime, UNIX_EPOCH};
//!
//! use overnight_client::webhooks::{self, Error, EventData, Headers, SigningSecret};
//!
//! /// Answers with an HTTP status, whatever the server.
//! fn receive<'a>(header: impl Fn(&str) -> Option<&'a str>, body: &[u8], secrets: &[SigningSecret]) -> u16 {
//!     let header = |name: &str| header(name).unwrap_or_default();
//!     let headers = Headers {
//!         id: header(webhooks::ID_HEADER),
//!         timestamp: header(webhooks::TIMESTAMP_HEADER),
//!         signature: header(webhooks::SIGNATURE_HEADER),
//!     };
//!     let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
//!     match webhooks::verify(secrets, headers, body, now.as_secs().cast_signed()) {
//!         Ok(event) => {
//!             // It may come again: remember `headers.id` with what you do about it.
//!             match event.data {
//!                 EventData::Request(request) => println!("{} is {}", request.id, request.status.as_str()),
//!                 EventData::Batch(batch) => println!("{} is {}", batch.id, batch.status.as_str()),
//!                 EventData::Credits(of) => println!("{} has {} credits left", of.account, of.available),
//!                 EventData::Test(of) => println!("a test of {}", of.account),
//!             }
//!             204
//!         }
//!         Err(Error::Unknown { .. }) => 204,
//!         Err(Error::NotSigned(_)) => 401,
//!         Err(_) => 400,
//!     }
//! }
//! # assert_eq!(receive(|_| None, b"", &[]), 401);
//! ```
//!
//! The body is checked as it came, byte for byte: read it whole before anything parses it.

use overnight_wire::native::events::signature;
use serde::Deserialize;
use thiserror::Error;

pub use overnight_wire::native::events::{AccountCredits, Event, EventData, EventKind, Tested};
pub use signature::{
    Headers, ID_HEADER, NotSigned, SIGNATURE_HEADER, SigningSecret, TIMESTAMP_HEADER, TOLERANCE_S,
};

/// The error of a webhook that is not accepted as an event.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// The signature does not prove that the service sent it. Answer 401.
    #[error(transparent)]
    NotSigned(#[from] NotSigned),
    /// The service sent it, but this release does not know its kind. Answer 2xx and ignore it.
    #[error("an event of an unknown type: {kind:?}")]
    Unknown {
        /// The `type` of the event.
        kind: String,
    },
    /// It is signed, but it is not the JSON of an event.
    #[error("the event cannot be read: {0}")]
    Unreadable(#[source] serde_json::Error),
}

/// Reads the event in a body that arrived at `now_s`, in Unix seconds, if it is signed with one of `secrets`; two while a secret is being
/// changed. Refuses signatures more than [`TOLERANCE_S`] before or after `now_s`, so that recorded webhooks cannot be replayed later. Fails
/// with [`Error::NotSigned`] before it parses the body.
pub fn verify(
    secrets: &[SigningSecret],
    headers: Headers<'_>,
    body: &[u8],
    now_s: i64,
) -> Result<Event, Error> {
    signature::verify(secrets, headers, body, now_s)?;
    let Named { kind } = serde_json::from_slice(body).map_err(Error::Unreadable)?;
    if EventKind::parse(&kind).is_none() {
        return Err(Error::Unknown { kind });
    }
    serde_json::from_slice(body).map_err(Error::Unreadable)
}

/// The members of every event.
#[derive(Deserialize)]
struct Named {
    #[serde(rename = "type")]
    kind: String,
}
