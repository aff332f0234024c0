//! Shared by Create Request and Create Batch: one JSON object of known fields, metadata and a webhook.

use std::fmt;

use overnight_base::spelling::nearest;
use overnight_config::WebhooksConfig;
use overnight_domain::faults::{Fault, Faults, Quoted, codes};
use overnight_domain::json::{Json, JsonError, JsonText, Kind, RawObject, minimize};
use overnight_domain::limits::Limits;
use overnight_domain::webhooks::urls;
use overnight_store::lists::Search;

use super::errors::AppError;

/// The longest search text, in characters. Browsers count each as one or more, so the console's forms refuse longer ones.
pub const SEARCH_CHARS_MAX: usize = 256;

pub(super) fn read(body: &[u8]) -> Result<JsonText, AppError> {
    minimize(body, 0).map_err(|JsonError { offset, expected, code }| {
        let message = format!("cannot be read as JSON: at byte {offset}, expected {expected}");
        AppError::invalid("", code, &message)
    })
}

/// The members of the outermost object; unknown and repeated members are faults.
pub(super) fn object<'j>(text: &'j JsonText, known: &[&str], faults: &mut Faults) -> Option<RawObject<'j>> {
    let Some(object) = text.as_json().to_object() else {
        faults.push("", codes::WRONG_TYPE, "must be a JSON object");
        return None;
    };
    for key in object.duplicate_keys() {
        faults.push(Quoted(key), codes::DUPLICATE_KEY, "stands more than once in its object");
    }
    for (key, _) in object.members().iter().filter(|(key, _)| !known.contains(&key.as_ref())) {
        // Computed only for faults that are kept: a body may have a million of them.
        let hint = fmt::from_fn(|formatter| match nearest(key, known) {
            Some(name) => write!(formatter, "is not a known field; did you mean {name}?"),
            None => write!(formatter, "is not a known field; the known ones are {}", known.join(", ")),
        });
        faults.push(Quoted(key), codes::UNKNOWN_FIELD, hint);
    }
    Some(object)
}

/// The metadata to store: `{}` if absent, `None` for null.
pub(super) fn metadata(object: &RawObject<'_>, limits: &Limits, faults: &mut Faults) -> Option<Vec<u8>> {
    let Some(value) = object.get("metadata") else { return Some(b"{}".to_vec()) };
    match value.kind() {
        Kind::Null => return None,
        Kind::Object if value.as_str().len() <= limits.metadata_bytes => {
            return Some(value.as_str().into());
        }
        Kind::Object => {
            let message = format_args!("must be at most {} bytes of JSON", limits.metadata_bytes);
            faults.push("metadata", codes::OUT_OF_RANGE, message);
        }
        _ => faults.push("metadata", codes::WRONG_TYPE, "must be an object or null"),
    }
    None
}

/// The webhook address, as it was sent.
pub(super) fn webhook(
    object: &RawObject<'_>,
    allowed: &WebhooksConfig,
    faults: &mut Faults,
) -> Option<String> {
    let value = object.get_some("webhook")?;
    let Some(address) = Json::decode_string(value) else {
        faults.push("webhook", codes::WRONG_TYPE, "must be a string or null");
        return None;
    };
    match check_webhook(&address, allowed) {
        Ok(()) => Some(address.into_owned()),
        Err(fault) => {
            faults.push(fault.param, fault.code, fault.message);
            None
        }
    }
}

/// The search text without surrounding white space.
pub(super) fn search(text: Option<&str>) -> Result<Option<Search>, AppError> {
    let text = text.map(str::trim).filter(|text| !text.is_empty());
    if text.is_some_and(|text| text.chars().nth(SEARCH_CHARS_MAX).is_some()) {
        let message = format!("must have at most {SEARCH_CHARS_MAX} characters");
        return Err(AppError::invalid("search", codes::OUT_OF_RANGE, &message));
    }
    Ok(text.map(Search::new))
}

/// Refuses an address that a request could not have as its webhook.
pub(super) fn check_address(address: &str, allowed: &WebhooksConfig) -> Result<(), AppError> {
    check_webhook(address, allowed)
        .map_err(|Fault { param, code, message }| AppError::invalid(&param, code, &message))
}

fn check_webhook(address: &str, allowed: &WebhooksConfig) -> Result<(), Fault> {
    urls::check(address, allowed.allow_insecure_targets, |address| allowed.allows(address))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_webhook_is_an_https_address_with_a_host_and_no_user() {
        let inner = ["10.1.0.0/16".parse().unwrap()];
        let strict = WebhooksConfig {
            allow_insecure_targets: false,
            allow_networks: inner.into(),
            retries: Vec::new(),
        };
        let long = format!("https://example.com/{}", "a".repeat(urls::BYTES_MAX));
        for (address, code) in [
            ("https://example.com/hook?x=1", None),
            ("HTTPS://example.com", None),
            ("https://8.8.8.8:8443/", None),
            ("https://[2606:4700::1111]/", None),
            ("https://10.1.2.3/", None),
            ("https://localhost/", None),
            ("https://a_b.example./", None),
            ("https://a..b/", Some(codes::UNKNOWN_VALUE)),
            ("https://{host}/", Some(codes::UNKNOWN_VALUE)),
            ("https://a-.example/", Some(codes::UNKNOWN_VALUE)),
            ("https://127.0.0.1:8443/", Some(codes::NOT_ALLOWED)),
            ("https://2130706433/", Some(codes::NOT_ALLOWED)),
            ("https://[::1]/", Some(codes::NOT_ALLOWED)),
            ("https://[::ffff:169.254.169.254]/", Some(codes::NOT_ALLOWED)),
            ("https://10.2.2.3/", Some(codes::NOT_ALLOWED)),
            ("https://example.com:0/", Some(codes::NOT_ALLOWED)),
            ("http://example.com", Some(codes::NOT_ALLOWED)),
            ("ftp://example.com", Some(codes::UNKNOWN_VALUE)),
            ("file:///etc/passwd", Some(codes::UNKNOWN_VALUE)),
            ("javascript:alert(1)", Some(codes::UNKNOWN_VALUE)),
            ("example.com/hook", Some(codes::UNKNOWN_VALUE)),
            ("", Some(codes::UNKNOWN_VALUE)),
            ("https://", Some(codes::UNKNOWN_VALUE)),
            (" https://example.com", Some(codes::UNKNOWN_VALUE)),
            ("https://exa\nmple.com", Some(codes::UNKNOWN_VALUE)),
            ("https://user@example.com", Some(codes::NOT_ALLOWED)),
            ("https://:secret@example.com", Some(codes::NOT_ALLOWED)),
            (&long, Some(codes::OUT_OF_RANGE)),
        ] {
            assert_eq!(check_webhook(address, &strict).map_err(|fault| fault.code).err(), code, "{address}");
        }
        let open = WebhooksConfig { allow_insecure_targets: true, ..strict };
        for address in ["http://example.com", "http://127.0.0.1:8787/", "https://[::1]/"] {
            assert_eq!(check_webhook(address, &open), Ok(()), "{address}");
        }
    }
}
