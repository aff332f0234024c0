//! Spans: what was done for a trace, from when until when, and how it went.

use std::borrow::Cow;
use std::sync::Arc;

use overnight_domain::traces::TraceContext;

use super::Traces;

/// A span. Times are in microseconds since the Unix epoch.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Span {
    pub(crate) context: TraceContext,
    /// The span that it is a part of; `None` for the first of a trace.
    pub(crate) parent: Option<u64>,
    pub(crate) name: String,
    pub(crate) kind: SpanKind,
    pub(crate) began_at_us: i64,
    pub(crate) ended_at_us: i64,
    pub(crate) attributes: Vec<(&'static str, Attribute)>,
    /// The kind of error that it ended with: `error.type`.
    pub(crate) error: Option<Cow<'static, str>>,
}

/// Who began a span, and where what it covers is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SpanKind {
    Internal,
    /// A call that the service answers.
    Server,
    Client,
}

/// What a span says beside its times.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Attribute {
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

    pub(crate) fn set(&mut self, name: &'static str, value: impl Into<Attribute>) {
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

/// A span that is under way. Dropped before its end, it ends with the error `aborted`.
pub(crate) struct OpenSpan {
    traces: Arc<Traces>,
    span: Option<Span>,
    context: TraceContext,
}

impl OpenSpan {
    pub(super) const fn new(traces: Arc<Traces>, span: Span) -> Self {
        let context = span.context;
        Self { traces, span: Some(span), context }
    }

    /// The `traceparent` for whom it calls.
    pub(crate) fn traceparent(&self) -> String {
        self.context.traceparent(true)
    }

    pub(crate) fn set(&mut self, name: &'static str, value: impl Into<Attribute>) {
        if let Some(span) = &mut self.span {
            span.set(name, value);
        }
    }

    /// Ends it now, with an error where there was one.
    pub(crate) fn end(mut self, error: Option<Cow<'static, str>>) {
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
