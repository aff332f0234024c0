//! The fields of a call, and the fields that a session needs.

use std::collections::BTreeMap;

use url::form_urlencoded;

pub(super) type Fields = BTreeMap<String, String>;

pub(super) const CURRENCY: &str = "line_items[0][price_data][currency]";

const UNIT_AMOUNT: &str = "line_items[0][price_data][unit_amount]";

/// Fields without which our sessions are refused.
const REQUIRED: [&str; 6] = [
    "mode",
    "success_url",
    CURRENCY,
    UNIT_AMOUNT,
    "line_items[0][price_data][product_data][name]",
    "line_items[0][quantity]",
];

/// Other fields that Stripe knows and we use.
const KNOWN: [&str; 2] = ["client_reference_id", "adaptive_pricing[enabled]"];

const METADATA: [&str; 2] = ["metadata[", "payment_intent_data[metadata]["];

/// A wrong field: its name, code and message.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct WrongField {
    pub(super) name: String,
    pub(super) code: &'static str,
    pub(super) message: String,
}

pub(super) fn fields(text: &[u8]) -> Fields {
    form_urlencoded::parse(text).into_owned().collect()
}

/// Refuses fields that make no session.
pub(super) fn check(fields: &Fields) -> Result<(), WrongField> {
    let wrong = |name: &str, code, message| WrongField { name: name.to_owned(), code, message };
    if let Some(name) = REQUIRED.into_iter().find(|name| fields.get(*name).is_none_or(String::is_empty)) {
        return Err(wrong(name, "parameter_missing", format!("Missing required param: {name}.")));
    }
    let is_known = |name: &str| {
        REQUIRED.contains(&name)
            || KNOWN.contains(&name)
            || METADATA.iter().any(|prefix| name.starts_with(prefix) && name.ends_with(']'))
    };
    if let Some(name) = fields.keys().find(|name| !is_known(name)) {
        return Err(wrong(name, "parameter_unknown", format!("Received unknown parameter: {name}")));
    }
    let is_currency = |text: &str| text.len() == 3 && text.bytes().all(|byte| byte.is_ascii_lowercase());
    for (name, fits) in [
        ("mode", fields["mode"] == "payment"),
        ("line_items[0][quantity]", fields["line_items[0][quantity]"] == "1"),
        (CURRENCY, is_currency(&fields[CURRENCY])),
        (UNIT_AMOUNT, unit_amount(fields) > 0),
        ("success_url", fields["success_url"].starts_with("http")),
    ] {
        if !fits {
            return Err(wrong(name, "parameter_invalid", format!("Invalid {name}: {}", fields[name])));
        }
    }
    Ok(())
}

/// The price in minor units; 0 if it is invalid.
pub(super) fn unit_amount(fields: &Fields) -> i64 {
    fields.get(UNIT_AMOUNT).and_then(|text| text.parse().ok()).unwrap_or(0)
}

pub(super) fn metadata(fields: &Fields, prefix: &str) -> Fields {
    let inner = |(name, value): (&String, &String)| {
        let key = name.strip_prefix(prefix)?.strip_prefix('[')?.strip_suffix(']')?;
        Some((key.to_owned(), value.clone()))
    };
    fields.iter().filter_map(inner).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "mode=payment&success_url=http://h&line_items%5B0%5D%5Bquantity%5D=1\
        &line_items[0][price_data][currency]=usd&line_items[0][price_data][unit_amount]=5\
        &line_items[0][price_data][product_data][name]=Credits&metadata[a]=b";

    #[test]
    fn fields_that_make_no_session_are_refused_by_name() {
        assert_eq!(check(&fields(GOOD.as_bytes())), Ok(()));
        for (change, name, code) in [
            ("&mode=setup", "mode", "parameter_invalid"),
            ("&success_url=", "success_url", "parameter_missing"),
            ("&line_items[0][price_data][unit_amount]=-5", UNIT_AMOUNT, "parameter_invalid"),
            ("&line_items[0][price_data][unit_amount]=0.5", UNIT_AMOUNT, "parameter_invalid"),
            ("&line_items[0][price_data][currency]=USD", CURRENCY, "parameter_invalid"),
            ("&payment_method_types[0]=card", "payment_method_types[0]", "parameter_unknown"),
        ] {
            let wrong = check(&fields(format!("{GOOD}{change}").as_bytes())).expect_err(change);
            assert_eq!((wrong.name.as_str(), wrong.code), (name, code), "{change}");
        }
    }

    #[test]
    fn metadata_is_told_by_its_prefix() {
        let fields = fields(b"metadata[a]=b&payment_intent_data[metadata][c]=d");
        assert_eq!(metadata(&fields, "metadata"), [("a".to_owned(), "b".to_owned())].into());
        assert_eq!(metadata(&fields, "payment_intent_data[metadata]").len(), 1);
    }
}
