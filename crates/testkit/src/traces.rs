//! Traces as a collector reads them: OTLP in JSON by the letter of the standard, from the calls of a
//! [`Receiver`](crate::receiver::Receiver).

use std::collections::{BTreeMap, HashSet};

use serde::Deserialize;

use crate::receiver::Received;

#[derive(Debug, Clone, PartialEq)]
pub struct ReceivedSpan {
    pub trace: String,
    pub id: String,
    /// The parent span; empty for the first of a trace.
    pub parent: String,
    pub name: String,
    /// 1 internal, 2 server, 3 client.
    pub kind: u8,
    /// Start and end, in nanoseconds.
    pub time: (u64, u64),
    pub is_error: bool,
    /// Numbers and lists are text, in the form of JSON.
    pub attributes: BTreeMap<String, String>,
    /// The resource's `service.name`.
    pub service: String,
}

impl ReceivedSpan {
    /// An attribute, or empty.
    pub fn attribute(&self, name: &str) -> &str {
        self.attributes.get(name).map_or("", String::as_str)
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Export {
    resource_spans: Vec<ResourceSpans>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ResourceSpans {
    resource: Resource,
    scope_spans: Vec<ScopeSpans>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Resource {
    attributes: Vec<KeyValue>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ScopeSpans {
    #[serde(rename = "scope")]
    _scope: Scope,
    spans: Vec<Span>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Scope {
    #[serde(rename = "name")]
    _name: String,
    #[serde(rename = "version")]
    _version: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Span {
    trace_id: String,
    span_id: String,
    #[serde(default)]
    parent_span_id: String,
    name: String,
    kind: u8,
    start_time_unix_nano: String,
    end_time_unix_nano: String,
    attributes: Vec<KeyValue>,
    status: Status,
    #[serde(rename = "flags")]
    _flags: u32,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Status {
    #[serde(default)]
    code: u8,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct KeyValue {
    key: String,
    value: AnyValue,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
enum AnyValue {
    #[serde(rename = "stringValue")]
    Text(String),
    #[serde(rename = "intValue")]
    Number(String),
    #[serde(rename = "arrayValue")]
    Texts { values: Vec<AnyValue> },
}

impl AnyValue {
    fn text(self) -> Result<String, String> {
        match self {
            Self::Text(text) => Ok(text),
            Self::Number(number) => {
                number.parse::<i64>().map(|it| it.to_string()).map_err(|error| error.to_string())
            }
            Self::Texts { values } => {
                let texts = values.into_iter().map(Self::text).collect::<Result<Vec<_>, _>>()?;
                serde_json::to_string(&texts).map_err(|error| error.to_string())
            }
        }
    }
}

/// The spans of all exports among these calls, in order of arrival. Fails on violations of the standard: an unknown member, a wrong
/// identifier, a span that ends before it begins or arrived twice.
pub fn spans(received: &[Received]) -> Result<Vec<ReceivedSpan>, String> {
    let mut all = Vec::new();
    for call in received.iter().filter(|call| call.path.ends_with("/v1/traces") && call.answer.is_success()) {
        if call.header("content-type") != "application/json" {
            return Err(format!("the content type is {}", call.header("content-type")));
        }
        let export: Export = serde_json::from_slice(&call.body).map_err(|error| error.to_string())?;
        for ResourceSpans { resource, scope_spans } in export.resource_spans {
            let about = read_attributes(resource.attributes)?;
            let service = about.get("service.name").cloned().ok_or("a resource without service.name")?;
            for span in scope_spans.into_iter().flat_map(|scoped| scoped.spans) {
                all.push(read(span, &service)?);
            }
        }
    }
    let mut seen = HashSet::new();
    match all.iter().find(|span: &&ReceivedSpan| !seen.insert((span.trace.clone(), span.id.clone()))) {
        Some(span) => Err(format!("a span came twice: {span:?}")),
        None => Ok(all),
    }
}

fn read(span: Span, service: &str) -> Result<ReceivedSpan, String> {
    let nanos = |text: &str| text.parse::<u64>().map_err(|error| format!("{text}: {error}"));
    let time = (nanos(&span.start_time_unix_nano)?, nanos(&span.end_time_unix_nano)?);
    let is_whole = is_id(&span.trace_id, 32)
        && is_id(&span.span_id, 16)
        && (span.parent_span_id.is_empty() || is_id(&span.parent_span_id, 16));
    if !is_whole || time.0 > time.1 || !(1..=3).contains(&span.kind) || span.name.is_empty() {
        return Err(format!("a span that is none: {} {} {time:?}", span.name, span.trace_id));
    }
    Ok(ReceivedSpan {
        trace: span.trace_id,
        id: span.span_id,
        parent: span.parent_span_id,
        name: span.name,
        kind: span.kind,
        time,
        is_error: span.status.code == 2,
        attributes: read_attributes(span.attributes)?,
        service: service.to_owned(),
    })
}

fn read_attributes(attributes: Vec<KeyValue>) -> Result<BTreeMap<String, String>, String> {
    let mut read = BTreeMap::new();
    for KeyValue { key, value } in attributes {
        if read.insert(key.clone(), value.text()?).is_some() {
            return Err(format!("the attribute {key} stands there twice"));
        }
    }
    Ok(read)
}

fn is_id(text: &str, digits: usize) -> bool {
    let is_hex = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    text.len() == digits && text.bytes().all(is_hex) && text.bytes().any(|byte| byte != b'0')
}
