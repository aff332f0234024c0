//! Traces: spans of requests, sent to a collector by OTLP. They contain identifiers, names, counts and times; no bodies, keys, or texts of
//! clients or engines.

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

pub use self::calls::{CallTrace, REQUESTS_MAX, current, in_current_call, of_request};
pub use self::exporter::Exporter;
pub use self::exporter::TracesUnusable;
pub use self::spans::{Attribute, OpenSpan, Span, SpanKind};

use overnight_base::clock::SharedClock;
use overnight_base::ids::Ids;
use overnight_config::{Config, TracesConfig};

use self::budgets::Budgets;

/// Spans that wait for the exporter, a few hundred bytes each; further ones are dropped and counted.
const WAITING_MAX: usize = 8_192;

/// Records spans, if the settings name a collector. It never blocks: a span without room is dropped.
pub struct Traces(Option<Recording>);

struct Recording {
    sample_millionths: u32,
    budgets: Budgets,
    spans: Sender<Span>,
    /// `None` once the exporter has taken it.
    recorded: Mutex<Option<Receiver<Span>>>,
    clock: SharedClock,
    ids: Arc<Ids>,
}

impl Traces {
    pub fn new(config: Option<&TracesConfig>, clock: &SharedClock, ids: &Arc<Ids>) -> Self {
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

    /// The exporter of the spans; `None` for the second caller. Fails if the collector cannot be called as configured.
    pub fn exporter(&self, config: &Config) -> Result<Option<Exporter>, TracesUnusable> {
        let (Some(recording), Some(traces)) = (&self.0, &config.traces) else { return Ok(None) };
        let recorded = recording.recorded.lock().unwrap_or_else(PoisonError::into_inner).take();
        let node = config.node.clone();
        let exporter = |recorded| {
            Exporter::new((traces, &config.outgoing), node, recorded, Arc::clone(&recording.clock))
        };
        recorded.map(exporter).transpose()
    }

    pub const fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// A new trace, with the probability in the settings.
    pub fn draw(&self) -> Option<TraceContext> {
        let recording = self.0.as_ref()?;
        let (root, chance) = recording.root();
        recording.samples(chance).then_some(root)
    }

    /// Begins a span below `parent`. It is recorded when it ends or is dropped.
    pub fn begin(self: &Arc<Self>, parent: TraceContext, name: String, kind: SpanKind) -> Option<OpenSpan> {
        let recording = self.0.as_ref()?;
        let began_at = recording.clock.now() * 1_000;
        let context = parent.child(recording.number());
        let span = Span { parent: Some(parent.span()), ..Span::new(context, name, kind, began_at) };
        Some(OpenSpan::new(Arc::clone(self), span))
    }

    /// Records a span below `parent` that began at a time in milliseconds and ends now.
    pub fn record(
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

    /// The same for the first span of a trace.
    pub fn record_root(
        &self,
        root: TraceContext,
        name: &'static str,
        began_at: i64,
        attributes: Vec<(&'static str, Attribute)>,
    ) {
        let span = Span::new(root, name.to_owned(), SpanKind::Internal, began_at * 1_000);
        self.keep(Span { attributes, ..span }, None);
    }

    /// A `traceparent` for a call outside of recorded traces: the callee records none either.
    pub fn unrecorded(&self) -> Option<String> {
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
    /// A new trace, and random bits that are independent of its numbers.
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
