//! Stripe's error answers. <https://docs.stripe.com/api/errors>

use hyper::StatusCode;
use overnight_base::secrets::Secret;
use serde::Deserialize;

use crate::payment::PaymentError;
use crate::transport::printable;

#[derive(Deserialize)]
struct Envelope {
    error: Told,
}

#[derive(Deserialize, Default)]
struct Told {
    #[serde(rename = "type")]
    kind: Option<String>,
    code: Option<String>,
    message: Option<String>,
}

pub(super) fn read(status: StatusCode, body: &[u8], key: &Secret) -> PaymentError {
    let told = serde_json::from_slice(body).map(|envelope: Envelope| envelope.error).unwrap_or_default();
    let fit = |words: String| printable(&key.conceal(words));
    let code = told.code.or(told.kind).unwrap_or_else(|| status.as_u16().to_string());
    let message =
        told.message.unwrap_or_else(|| status.canonical_reason().unwrap_or("no message").to_owned());
    let (code, message) = (fit(code), fit(message));
    match status {
        // A call with the same idempotency key is in progress, or there were too many calls.
        StatusCode::CONFLICT | StatusCode::TOO_MANY_REQUESTS => {
            PaymentError::Away(format!("{message} ({code})"))
        }
        // Stripe keeps the first answer of an idempotency key, even a failure.
        status if status.is_server_error() => PaymentError::Broken(format!("{message} ({code})")),
        _ => PaymentError::Refused { code, message },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stripe_says_is_kept_and_its_status_tells_whether_it_may_pass() {
        let key = Secret::new("sk_test_1".to_owned());
        let refused = |code: &str, message: &str| PaymentError::Refused {
            code: code.to_owned(),
            message: message.to_owned(),
        };
        for (status, body, expected) in [
            (
                400,
                r#"{"error":{"type":"invalid_request_error","code":"parameter_missing","message":"Missing mode.","param":"mode"}}"#,
                refused("parameter_missing", "Missing mode."),
            ),
            (401, r#"{"error":{"type":"x","message":"No: sk_test_1"}}"#, refused("x", "No: [key]")),
            (402, r#"{"error":{"type":"card_error"}}"#, refused("card_error", "Payment Required")),
            (403, r#"{"error":{"message":"a\nb"}}"#, refused("403", "a\\nb")),
            (404, "nothing here", refused("404", "Not Found")),
            (
                409,
                r#"{"error":{"code":"lock_timeout","message":"Wait."}}"#,
                PaymentError::Away("Wait. (lock_timeout)".to_owned()),
            ),
            (
                429,
                r#"{"error":{"type":"rate_limit_error"}}"#,
                PaymentError::Away("Too Many Requests (rate_limit_error)".to_owned()),
            ),
            (
                500,
                r#"{"error":{"type":"api_error","message":"Sorry."}}"#,
                PaymentError::Broken("Sorry. (api_error)".to_owned()),
            ),
            (503, "", PaymentError::Broken("Service Unavailable (503)".to_owned())),
        ] {
            let error = read(StatusCode::from_u16(status).unwrap(), body.as_bytes(), &key);
            assert_eq!(error.is_passing(), matches!(status, 409 | 429 | 500..), "{status}");
            assert_eq!(error, expected, "{body}");
        }
    }
}
