//! The errors that the reference lists for each call.

use overnight_wire::native::errors::ErrorEnvelope;
use utoipa::IntoResponses;

/// What a call may be refused with that takes no input.
#[derive(IntoResponses)]
#[expect(dead_code, reason = "the reference is drawn from the type")]
pub(super) enum Always {
    /// No API key, or one that is unknown, revoked or expired.
    #[response(status = 401)]
    InvalidApiKey(ErrorEnvelope),
    /// The account's payments are not activated (`payments_not_activated`), or a request would hold more credits than are
    /// available (`insufficient_credits`; the message names both amounts). Nothing was done.
    #[response(status = 402)]
    Unpaid(ErrorEnvelope),
    /// The account has as many calls under way as it may (`too_many_calls`), a request would exceed one of its quotas
    /// (`quota_exceeded`; the message names it, and `GET /v1/account` shows all), or too many unknown API keys came from your
    /// network (`too_many_wrong_keys`). Nothing was done; try again after the seconds in `Retry-After`.
    #[response(status = 429)]
    TooMany(ErrorEnvelope),
    /// Nothing can be done now; try again after the seconds in `Retry-After`.
    #[response(status = 503)]
    Unavailable(ErrorEnvelope),
}

/// What a call may be refused with that takes a query.
#[derive(IntoResponses)]
#[expect(dead_code, reason = "the reference is drawn from the type")]
pub(super) enum OfQuery {
    /// The request to go on after is none of yours.
    #[response(status = 404)]
    NotFound(ErrorEnvelope),
    /// The query is invalid; `details` names every fault.
    #[response(status = 422)]
    Invalid(ErrorEnvelope),
}

/// What a call for usage may be refused with.
#[derive(IntoResponses)]
#[expect(dead_code, reason = "the reference is drawn from the type")]
pub(super) enum OfUsage {
    /// The query is invalid; `details` names every fault.
    #[response(status = 422)]
    Invalid(ErrorEnvelope),
}

/// What a call may be refused with that takes an identifier.
#[derive(IntoResponses)]
#[expect(dead_code, reason = "the reference is drawn from the type")]
pub(super) enum OfPath {
    /// The identifier is none of yours.
    #[response(status = 404)]
    NotFound(ErrorEnvelope),
    /// The path or the query is invalid.
    #[response(status = 422)]
    Invalid(ErrorEnvelope),
}

/// What a call may be refused with that takes a body.
#[derive(IntoResponses)]
#[expect(dead_code, reason = "the reference is drawn from the type")]
pub(super) enum OfBody {
    /// The API key has the scope `read` (`insufficient_scope`), or the account is suspended (`account_suspended`). Nothing was done.
    #[response(status = 403)]
    Forbidden(ErrorEnvelope),
    /// The body took too long to come; the connection is closed.
    #[response(status = 408)]
    TimedOut(ErrorEnvelope),
    /// The body is longer than the limit, 8 MiB unless the operator sets another.
    #[response(status = 413)]
    TooLarge(ErrorEnvelope),
    /// The body is compressed, or its type is not `application/json`.
    #[response(status = 415)]
    UnsupportedMediaType(ErrorEnvelope),
    /// The body is invalid; `details` names every fault. Or its `Idempotency-Key` was used with another body
    /// (`idempotency_key_reused`). Nothing was done.
    #[response(status = 422)]
    Invalid(ErrorEnvelope),
}

/// What a call that administrates accounts may be refused with beside.
#[derive(IntoResponses)]
#[expect(dead_code, reason = "the reference is drawn from the type")]
pub(super) enum OfAdmin {
    /// The API key does not have the scope `admin` (`insufficient_scope`).
    #[response(status = 403)]
    Forbidden(ErrorEnvelope),
}

/// What such a call may be refused with beside that takes an identifier and a body.
#[derive(IntoResponses)]
#[expect(dead_code, reason = "the reference is drawn from the type")]
pub(super) enum OfAccount {
    /// There is no such account.
    #[response(status = 404)]
    NotFound(ErrorEnvelope),
}

/// What a deletion may be refused with beside.
#[derive(IntoResponses)]
#[expect(dead_code, reason = "the reference is drawn from the type")]
pub(super) enum OfDelete {
    /// The API key has the scope `read` (`insufficient_scope`), or the account is suspended (`account_suspended`). Nothing was done.
    #[response(status = 403)]
    Forbidden(ErrorEnvelope),
    /// It waits or runs: cancel it first.
    #[response(status = 409)]
    NotEnded(ErrorEnvelope),
}

/// What a cancel may be refused with beside.
#[derive(IntoResponses)]
#[expect(dead_code, reason = "the reference is drawn from the type")]
pub(super) enum OfCancel {
    /// The API key has the scope `read` (`insufficient_scope`), or the account is suspended (`account_suspended`). Nothing was done.
    #[response(status = 403)]
    Forbidden(ErrorEnvelope),
    /// It has completed or failed, and stays so.
    #[response(status = 409)]
    AlreadyEnded(ErrorEnvelope),
}
