//! Traces: spans of what becomes of requests, sent to a collector by OTLP. They hold identifiers, names, counts and times; no body,
//! no key, nothing that a client or an engine wrote.

mod budgets;
mod calls;
mod exporter;
mod headers;
mod otlp;
mod spans;

#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex, PoisonError};

use overnight_domain::traces::TraceContext;
use tokio::sync::mpsc::{Receiver, Sender, channel};

pub(crate) use self::calls::{CallTrace, REQUESTS_MAX, current, in_current_call, of_request};
pub(crate) use self::exporter::Exporter;
pub use self::exporter::TracesUnusable;
pub(crate) use self::spans::{Attribute, OpenSpan, Span, SpanKind};

use overnight_base::clock::SharedClock;
use overnight_base::ids::Ids;

use self::budgets::Budgets;
use crate::config::{Config, TracesConfig};

/// How many spans wait for the exporter at most, a few hundred bytes each; more are dropped, and counted.
const WAITING_MAX: usize = 8_192;

/// Where spans are recorded, if the settings name a collector. Nothing here waits: a span that has no room is dropped.
pub struct Traces(Option<Recording>);

struct Recording {
    sample_millionths: u32,
    budgets: Budgets,
    spans: Sender<Span>,
    /// Until the exporter takes it.
    recorded: Mutex<Option<Receiver<Span>>>,
    clock: SharedClock,
    ids: Arc<Ids>,
}

impl Traces {
    /// Those that the settings ask for.
    pub(crate) fn new(config: Option<&TracesConfig>, clock: &SharedClock, ids: &Arc<Ids>) -> Self {
        Self(config.map(|config| {
            let (spans, recorded) = channel(WAITING_MAX);
            Recording {
                sample_millionths: config.sample.millionths(),
                budgets: Budgets::new(config.caller_traces_per_minute),
                spans,
                recorded: Mutex::new(Some(recorded)),
                clock: Arc::clone(clock),
                ids: Arc::clone(ids),
            }
        }))
    }

    /// What sends the spans on; the second who asks gets none.
    ///
    /// # Errors
    /// Why the collector cannot be called as configured.
    pub(crate) fn exporter(&self, config: &Config) -> Result<Option<Exporter>, TracesUnusable> {
        let (Some(recording), Some(traces)) = (&self.0, &config.traces) else { return Ok(None) };
        let recorded = recording.recorded.lock().unwrap_or_else(PoisonError::into_inner).take();
        let node = config.node.clone();
        let exporter = |recorded| {
            Exporter::new((traces, &config.outgoing), node, recorded, Arc::clone(&recording.clock))
        };
        recorded.map(exporter).transpose()
    }

    /// Whether anything is recorded at all.
    pub(crate) const fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// A new trace, for as large a part of those who ask as the settings say.
    pub(crate) fn draw(&self) -> Option<TraceContext> {
        let recording = self.0.as_ref()?;
        let (root, chance) = recording.root();
        recording.samples(chance).then_some(root)
    }

    /// A span below `parent` that begins now. It is recorded when it ends, also where whoever worked on it is stopped.
    pub(crate) fn begin(
        self: &Arc<Self>,
        parent: TraceContext,
        name: String,
        kind: SpanKind,
    ) -> Option<OpenSpan> {
        let recording = self.0.as_ref()?;
        let began_at = recording.clock.now() * 1_000;
        let context = parent.child(recording.number());
        let span = Span { parent: Some(parent.span()), ..Span::new(context, name, kind, began_at) };
        Some(OpenSpan::new(Arc::clone(self), span))
    }

    /// A span below `parent` that began at a time in milliseconds and ends now.
    pub(crate) fn record(
        &self,
        parent: TraceContext,
        name: &'static str,
        began_at: i64,
        attributes: Vec<(&'static str, Attribute)>,
        error: Option<&'static str>,
    ) {
        let Some(recording) = &self.0 else { return };
        let context = parent.child(recording.number());
        let span = Span::new(context, name.to_owned(), SpanKind::Internal, began_at * 1_000);
        let parent = Some(parent.span());
        self.keep(Span { parent, attributes, error: error.map(Into::into), ..span }, None);
    }

    /// The same of the first span of a trace.
    pub(crate) fn record_root(
        &self,
        root: TraceContext,
        name: &'static str,
        began_at: i64,
        attributes: Vec<(&'static str, Attribute)>,
    ) {
        let span = Span::new(root, name.to_owned(), SpanKind::Internal, began_at * 1_000);
        self.keep(Span { attributes, ..span }, None);
    }

    /// The `traceparent` for a call in no trace that is recorded: whoever is called records none either.
    pub(crate) fn unrecorded(&self) -> Option<String> {
        Some(self.0.as_ref()?.root().0.traceparent(false))
    }

    /// Records a span that ended now, or after so many microseconds.
    fn keep(&self, mut span: Span, duration_us: Option<i64>) {
        let Some(recording) = &self.0 else { return };
        let ended_at = || recording.clock.now() * 1_000;
        span.ended_at_us = duration_us.map_or_else(ended_at, |us| span.began_at_us.saturating_add(us));
        span.ended_at_us = span.ended_at_us.max(span.began_at_us);
        if recording.spans.try_send(span).is_err() {
            metrics::counter!("overnight_spans_dropped_total", "reason" => "queue_full").increment(1);
        }
    }
}

impl Recording {
    /// A new trace, and chance that says nothing of its numbers.
    fn root(&self) -> (TraceContext, u64) {
        let random = self.ids.random();
        let (mut trace, mut span, mut chance) = ([0; 16], [0; 8], [0; 8]);
        trace.copy_from_slice(&random[..16]);
        span.copy_from_slice(&random[16..24]);
        chance.copy_from_slice(&random[24..]);
        let root = TraceContext::root(u128::from_be_bytes(trace), u64::from_be_bytes(span));
        (root, u64::from_be_bytes(chance))
    }

    fn number(&self) -> u64 {
        self.root().1
    }

    fn samples(&self, chance: u64) -> bool {
        chance % 1_000_000 < u64::from(self.sample_millionths)
    }
}
