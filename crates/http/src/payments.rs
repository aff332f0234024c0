//! Pages for payment providers and customers.

use axum::body::Bytes;
use axum::extract::{FromRequest, Request, State};
use axum::http::HeaderName;
use axum::response::Response;
use overnight_app::payments;

use super::bodies::{self, Buffers};
use super::context::Shared;
use super::errors::{Answer, Refusal};
use super::{answers, pages};

/// The address of Stripe's notices.
pub(super) const STRIPE_PATH: &str = "/hooks/stripe";

const SIGNATURE: HeaderName = HeaderName::from_static("stripe-signature");

/// Longer than any event, but short, so that senders of unsigned bodies hold little memory.
const NOTICE_BYTES_MAX: usize = 64 << 10;

const THANKS: &str = include_str!("thanks.html");

/// The signature and body of a notice, as sent. The body is not read without a signature.
pub(super) struct SignedNotice {
    signature: Vec<u8>,
    body: Bytes,
}

impl FromRequest<Shared> for SignedNotice {
    type Rejection = Refusal;

    async fn from_request(request: Request, context: &Shared) -> Result<Self, Refusal> {
        let (parts, body) = request.into_parts();
        let signature = parts.headers.get(SIGNATURE).map(|value| value.as_bytes().to_vec());
        let signature = signature.ok_or_else(payments::unsigned)?;
        let body = bodies::read(body, NOTICE_BYTES_MAX, Buffers::of(&parts, context)).await?;
        Ok(Self { signature, body })
    }
}

/// `POST /hooks/stripe`.
pub(super) async fn hear(State(context): State<Shared>, notice: SignedNotice) -> Answer {
    payments::hear(&context.services, &notice.signature, &notice.body).await?;
    Ok(answers::ok(|out| out.extend_from_slice(b"{\"received\":true}")))
}

/// `GET /payments/thanks`.
pub(super) async fn thanks() -> Response {
    pages::html(Bytes::from_static(THANKS.as_bytes()))
}
