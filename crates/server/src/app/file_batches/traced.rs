//! Traces of requests out of files: each begins where the request is made, for there is no call that it came by.

use overnight_domain::ids::RequestId;
use overnight_domain::traces::TraceContext;

use crate::store::batches::{FillStep, Filled};
use crate::traces::{REQUESTS_MAX, Traces};

/// The requests of a step that are to be traced, with their places in it.
pub(super) struct Drawn(Vec<(usize, TraceContext, RequestId)>);

impl Drawn {
    /// Chooses among the first lines of a step, and notes with each request that it is traced.
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

    /// Records the beginning of those that were made, in a step that began at a time in milliseconds.
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
