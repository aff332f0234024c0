//! Headers for the collector, in the format of `OTEL_EXPORTER_OTLP_HEADERS`.

use hyper::header::{HeaderName, HeaderValue};
use percent_encoding::percent_decode_str;

/// Reads `name=value,name=value`, with percent-encoded values. Fails with the end of a sentence, which contains no value.
pub(super) fn read(text: &str) -> Result<Vec<(HeaderName, HeaderValue)>, &'static str> {
    let pairs = text.split(',').map(str::trim).filter(|pair| !pair.is_empty());
    let headers: Vec<_> =
        pairs.map(header).collect::<Option<_>>().ok_or("is no list like name=value,name=value")?;
    if headers.is_empty() { Err("has no header") } else { Ok(headers) }
}

fn header(pair: &str) -> Option<(HeaderName, HeaderValue)> {
    let (name, value) = pair.split_once('=')?;
    let name = HeaderName::try_from(name.trim()).ok()?;
    let value = percent_decode_str(value.trim()).decode_utf8().ok()?;
    let mut value = HeaderValue::try_from(value.as_ref()).ok()?;
    value.set_sensitive(true);
    Some((name, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_pairs_and_their_values_are_hidden() {
        let read_all = read("Authorization=Basic%20dTpw==, x-tenant = a ,").unwrap();
        let shown: Vec<_> = read_all.iter().map(|(name, value)| (name.as_str(), value.as_bytes())).collect();
        assert_eq!(shown, [("authorization", &b"Basic dTpw=="[..]), ("x-tenant", b"a")]);
        assert!(!format!("{read_all:?}").contains("dTpw"));
        for wrong in ["", " , ", "name", "na me=1", "a=1,b", "a=%0A", "a=%ff"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
