//! Every error code: its status, type, and advice. Answers and the reference are written from this list.

use axum::http::StatusCode;

const INVALID_REQUEST: &str = "invalid_request_error";
const AUTHENTICATION: &str = "authentication_error";
const PERMISSION: &str = "permission_error";
const BILLING: &str = "billing_error";
const RATE_LIMIT: &str = "rate_limit_error";
const SERVER: &str = "server_error";

#[derive(Debug)]
pub(crate) struct ErrorCode {
    pub(crate) status: StatusCode,
    pub(crate) code: &'static str,
    /// The `type` of the error.
    pub(crate) kind: &'static str,
    /// When it is answered, and what to do.
    pub(crate) meaning: &'static str,
}

macro_rules! codes {
    ($($name:ident: $status:ident $code:literal $kind:ident $meaning:literal;)+) => {
        $(pub(super) static $name: ErrorCode =
            ErrorCode { status: StatusCode::$status, code: $code, kind: $kind, meaning: $meaning };)+

        /// All of them, by status.
        pub(crate) static CODES: &[&ErrorCode] = &[$(&$name),+];
    };
}

codes! {
    ENGINE_REJECTED: BAD_REQUEST "engine_rejected" INVALID_REQUEST
        "The engine refused the request: its message says why. The code of a failed request, too.";
    INVALID_NOTICE: BAD_REQUEST "invalid_notice" INVALID_REQUEST
        "A notice of the payment provider is not signed as it should be. No API key gets this.";
    HTTPS_REQUIRED: BAD_REQUEST "https_required" INVALID_REQUEST
        "The service is called by https here, and the call came in the open. Replace its API key: others may have read it.";
    INVALID_HEADERS: BAD_REQUEST "invalid_headers" INVALID_REQUEST
        "A header is repeated that is not a list, or `Host` is missing over HTTP/1.1. The message names the header.";
    INVALID_API_KEY: UNAUTHORIZED "invalid_api_key" AUTHENTICATION
        "No API key, or one that is unknown, revoked or expired. Check `X-API-Key`.";
    INVALID_TOKEN: UNAUTHORIZED "invalid_token" AUTHENTICATION
        "`/metrics` wants its token as a bearer.";
    PAYMENTS_NOT_ACTIVATED: PAYMENT_REQUIRED "payments_not_activated" BILLING
        "The account's payments are not activated. The operator, or a payment in the console, does that.";
    INSUFFICIENT_CREDITS: PAYMENT_REQUIRED "insufficient_credits" BILLING
        "The request would hold more credits than are available; the message names both amounts. Add credits, or lower `max_tokens`.";
    INSUFFICIENT_SCOPE: FORBIDDEN "insufficient_scope" PERMISSION
        "The API key reads and changes nothing, or does not administrate accounts. Use one with the scope `write`, or `admin` under `/v1/admin`.";
    ACCOUNT_SUSPENDED: FORBIDDEN "account_suspended" PERMISSION
        "The operator has suspended the account. Its keys read, and change nothing, until the operator resumes it.";
    NOT_FOUND: NOT_FOUND "not_found" INVALID_REQUEST
        "Nothing is at this path, or what the identifier names is none of yours or was deleted.";
    METHOD_NOT_ALLOWED: METHOD_NOT_ALLOWED "method_not_allowed" INVALID_REQUEST
        "The path does not take this method. `Allow` names those that it takes.";
    REQUEST_TIMEOUT: REQUEST_TIMEOUT "request_timeout" INVALID_REQUEST
        "The body took too long to come, and the connection is closed. Send it again.";
    ALREADY_ENDED: CONFLICT "already_ended" INVALID_REQUEST
        "What was to be cancelled has ended otherwise, and stays so.";
    NOT_ENDED: CONFLICT "not_ended" INVALID_REQUEST
        "What was to be deleted waits or runs. Cancel it first.";
    CANCELLED: CONFLICT "cancelled" INVALID_REQUEST
        "The request that this call waited for was cancelled.";
    TOO_LARGE: PAYLOAD_TOO_LARGE "too_large" INVALID_REQUEST
        "The body is longer than the limit, which the message names.";
    UNSUPPORTED_MEDIA_TYPE: UNSUPPORTED_MEDIA_TYPE "unsupported_media_type" INVALID_REQUEST
        "The body is compressed, or its `Content-Type` is none that is taken here.";
    INVALID_INPUT: UNPROCESSABLE_ENTITY "invalid_input" INVALID_REQUEST
        "The path, the query or the body is invalid. `details` names every fault, with its place.";
    IDEMPOTENCY_KEY_REUSED: UNPROCESSABLE_ENTITY "idempotency_key_reused" INVALID_REQUEST
        "Another body was sent under this `Idempotency-Key` before. Use a new key.";
    QUOTA_EXCEEDED: TOO_MANY_REQUESTS "quota_exceeded" RATE_LIMIT
        "The request would exceed a quota of the account, which the message names. Try again after the seconds in `Retry-After`.";
    TOO_MANY_CHANGES: TOO_MANY_REQUESTS "too_many_changes" RATE_LIMIT
        "Members of the account, or the user, have made as many changes in the last 24 hours as the audit log takes. Only the console answers this.";
    TOO_MANY_CALLS: TOO_MANY_REQUESTS "too_many_calls" RATE_LIMIT
        "The account has as many calls under way as it may. Send the next when one was answered.";
    TOO_MANY_WAITING_CALLS: TOO_MANY_REQUESTS "too_many_waiting_calls" RATE_LIMIT
        "The account has as many calls that wait for an answer as it may. Nothing was created.";
    TOO_MANY_WRONG_KEYS: TOO_MANY_REQUESTS "too_many_wrong_keys" RATE_LIMIT
        "Too many unknown API keys came from your network. Check the key, and wait for `Retry-After`.";
    INTERNAL: INTERNAL_SERVER_ERROR "internal" SERVER
        "A fault of the service. It is in its log, under the `request_id`.";
    ENGINE_INVALID_RESPONSE: BAD_GATEWAY "engine_invalid_response" SERVER
        "The engine's answer could not be used. The code of a failed request, too.";
    PAYMENT_FAILED: BAD_GATEWAY "payment_failed" BILLING
        "The payment provider did not do what it was asked for.";
    UNAVAILABLE: SERVICE_UNAVAILABLE "unavailable" SERVER
        "The service stops, or its database is away. Try again after the seconds in `Retry-After`.";
    STILL_WAITING: SERVICE_UNAVAILABLE "still_waiting" SERVER
        "The request was accepted and runs on, but this call can wait for it no longer. Read it later, or repeat the call with its \
         `Idempotency-Key`.";
    ENGINE_UNAVAILABLE: SERVICE_UNAVAILABLE "engine_unavailable" SERVER
        "The engine failed in every attempt: five, or two that timed out. The code of a failed request, too.";
    EXPIRED: GATEWAY_TIMEOUT "expired" SERVER
        "The request was not answered within its completion window. The code of a failed request, too.";
}
