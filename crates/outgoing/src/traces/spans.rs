//! Spans.

use std::borrow::Cow;
use std::sync::Arc;

use overnight_domain::traces::TraceContext;

use super::Traces;

/// Times are in microseconds since the Unix epoch.
#[derive(Debug, Clone, PartialEq)]
pub struct Span {
    pub context: TraceContext,
    /// `None` for the first span of a trace.
    pub parent: Option<u64>,
    pub name: String,
    pub kind: SpanKind,
    pub began_at_us: i64,
    pub ended_at_us: i64,
    pub attributes: Vec<(&'static str, Attribute)>,
    /// `error.type`.
    pub error: Option<Cow<'static, str>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpanKind {
    Internal,
    /// A call that the service answers.
    Server,
    Client,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Attribute {
    Text(Cow<'static, str>),
    Texts(Vec<String>),
    Number(i64),
}

impl Span {
    pub(super) fn new(context: TraceContext, name: String, kind: SpanKind, began_at_us: i64) -> Self {
        Self {
            context,
            parent: None,
            name,
            kind,
            began_at_us,
            ended_at_us: began_at_us,
            attributes: Vec::new(),
            error: None,
        }
    }

    pub fn set(&mut self, name: &'static str, value: impl Into<Attribute>) {
        self.attributes.push((name, value.into()));
    }
}

impl From<&'static str> for Attribute {
    fn from(text: &'static str) -> Self {
        Self::Text(text.into())
    }
}

impl From<String> for Attribute {
    fn from(text: String) -> Self {
        Self::Text(text.into())
    }
}

impl From<Vec<String>> for Attribute {
    fn from(texts: Vec<String>) -> Self {
        Self::Texts(texts)
    }
}

impl From<i64> for Attribute {
    fn from(number: i64) -> Self {
        Self::Number(number)
    }
}

/// An open span. Dropped before its end, it ends with the error `aborted`.
pub struct OpenSpan {
    traces: Arc<Traces>,
    span: Option<Span>,
    context: TraceContext,
}

impl OpenSpan {
    pub(super) const fn new(traces: Arc<Traces>, span: Span) -> Self {
        let context = span.context;
        Self { traces, span: Some(span), context }
    }

    /// The `traceparent` for calls below this span.
    pub fn traceparent(&self) -> String {
        self.context.traceparent(true)
    }

    pub fn set(&mut self, name: &'static str, value: impl Into<Attribute>) {
        if let Some(span) = &mut self.span {
            span.set(name, value);
        }
    }

    pub fn end(mut self, error: Option<Cow<'static, str>>) {
        if let Some(span) = self.span.take() {
            self.traces.keep(Span { error, ..span }, None);
        }
    }
}

impl Drop for OpenSpan {
    fn drop(&mut self) {
        if let Some(span) = self.span.take() {
            self.traces.keep(Span { error: Some("aborted".into()), ..span }, None);
        }
    }
}
