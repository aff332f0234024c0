//! Traces of requests from files. Each begins when the request is created, because no call carries its trace.

use overnight_domain::ids::RequestId;
use overnight_domain::traces::TraceContext;
use overnight_outgoing::traces::{REQUESTS_MAX, Traces};
use overnight_store::batches::{FillStep, Filled};

/// The traced requests of a step, with their positions in it.
pub(super) struct Drawn(Vec<(usize, TraceContext, RequestId)>);

impl Drawn {
    /// Chooses among the first lines of a step, and marks these requests as traced.
    pub(super) fn choose(traces: &Traces, step: &mut FillStep) -> Self {
        if !traces.is_on() {
            return Self(Vec::new());
        }
        let lines = step.lines.iter_mut().enumerate().take(REQUESTS_MAX as usize);
        let requests = lines.filter_map(|(place, line)| Some((place, line.as_mut()?)));
        let waiting = requests.filter(|(_, line)| line.failure.is_none());
        Self(
            waiting
                .filter_map(|(place, line)| {
                    line.request.trace = traces.draw();
                    Some((place, line.request.trace?, line.request.id))
                })
                .collect(),
        )
    }

    /// Records the start of the created requests, in a step that began at this time in milliseconds.
    pub(super) fn record(self, traces: &Traces, filled: &Filled, began_at: i64) {
        let made = match filled {
            Filled::Some(passed) => *passed,
            Filled::Last => usize::MAX,
            _ => 0,
        };
        for (_, trace, request) in self.0.into_iter().filter(|(place, ..)| *place < made) {
            let about = vec![("overnight.request.id", request.to_string().into())];
            traces.record_root(trace, "create", began_at, about);
        }
    }
}
