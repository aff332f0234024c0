//! Spans as OTLP in JSON: the body of a collector's `POST /v1/traces`.

use serde_json::{Value, json};

use super::{Attribute, Span, SpanKind};

/// The source of the spans, in each export.
pub(super) struct Resource {
    /// `service.name`.
    pub(super) service: String,
    /// `service.instance.id`: the node's name.
    pub(super) node: Option<String>,
}

/// As in OTLP's JSON, identifiers are hexadecimal, and numbers of 64 bits are strings.
pub(super) fn export(resource: &Resource, spans: &[Span]) -> Vec<u8> {
    let mut about = vec![attribute("service.name", &resource.service.clone().into())];
    about.push(attribute("service.version", &env!("CARGO_PKG_VERSION").into()));
    if let Some(node) = &resource.node {
        about.push(attribute("service.instance.id", &node.clone().into()));
    }
    let scope = json!({"name": "overnight", "version": env!("CARGO_PKG_VERSION")});
    let spans: Vec<Value> = spans.iter().map(span).collect();
    let scoped = json!([{"scope": scope, "spans": spans}]);
    json!({"resourceSpans": [{"resource": {"attributes": about}, "scopeSpans": scoped}]})
        .to_string()
        .into_bytes()
}

fn span(span: &Span) -> Value {
    let mut attributes: Vec<Value> =
        span.attributes.iter().map(|(name, value)| attribute(name, value)).collect();
    let mut status = json!({});
    if let Some(error) = &span.error {
        attributes.push(attribute("error.type", &Attribute::Text(error.clone())));
        status = json!({"code": 2 /* error */});
    }
    let mut written = json!({
        "traceId": span.context.trace().to_string(),
        "spanId": format!("{:016x}", span.context.span()),
        "name": span.name,
        "kind": match span.kind {
            SpanKind::Internal => 1,
            SpanKind::Server => 2,
            SpanKind::Client => 3,
        },
        "startTimeUnixNano": nanos(span.began_at_us),
        "endTimeUnixNano": nanos(span.ended_at_us),
        "attributes": attributes,
        "status": status,
        // Sampled, according to the flags of W3C.
        "flags": 1,
    });
    if let Some(parent) = span.parent {
        written["parentSpanId"] = format!("{parent:016x}").into();
    }
    written
}

fn nanos(us: i64) -> String {
    us.max(0).saturating_mul(1_000).to_string()
}

fn attribute(name: &str, value: &Attribute) -> Value {
    let value = match value {
        Attribute::Text(text) => json!({"stringValue": text}),
        Attribute::Texts(texts) => {
            let values: Vec<Value> = texts.iter().map(|text| json!({"stringValue": text})).collect();
            json!({"arrayValue": {"values": values}})
        }
        Attribute::Number(number) => json!({"intValue": number.to_string()}),
    };
    json!({"key": name, "value": value})
}

/// The number of spans that the collector rejected in a successful answer.
pub(super) fn rejected(answer: &[u8]) -> u64 {
    let answer: Value = serde_json::from_slice(answer).unwrap_or_default();
    let rejected = &answer["partialSuccess"]["rejectedSpans"];
    rejected.as_u64().or_else(|| rejected.as_str()?.parse().ok()).unwrap_or(0)
}
