//! Engines in virtual time, and what was sent to them.

use std::collections::{BTreeMap, HashMap};

use overnight_testkit::engine::{CostModel, EngineModel, Finished, JobId, ModelStats};

use super::workload::Request;

/// What a dispatcher hears of.
#[derive(Debug, Clone, Copy)]
pub(super) enum Event {
    /// Everything waits, and every engine is idle.
    Start,
    /// An engine has completed a request.
    Completed { replica: usize, request: usize },
    /// The time has come that [`Work::After`] named.
    Due(u64),
    /// What an engine says of itself, once a second.
    Reported { replica: usize, stats: ModelStats },
}

/// Sequences that an engine works on at once: vLLM's own default.
const RUNNING_MAX: usize = 256;
/// How often an engine's report is read.
const REPORT_US: u64 = 1_000_000;

/// What a dispatcher wants done.
#[derive(Debug, Clone, Copy)]
pub(super) enum Work {
    Send {
        replica: usize,
        request: usize,
    },
    /// Say [`Event::Due`] with this number in so many microseconds.
    After {
        us: u64,
        number: u64,
    },
}

/// Decides which request goes where, and when.
pub(super) trait Dispatcher {
    fn on(&mut self, event: Event, now_us: u64) -> Vec<Work>;
}

/// How a run ended.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Outcome {
    /// Until the last request was completed.
    pub(super) seconds: f64,
    /// Prompt tokens that were found in a cache, as a share of all.
    pub(super) hit_rate: f64,
    /// Requests completed.
    pub(super) completed: usize,
    /// Requests that waited in an engine, in the mean.
    pub(super) waiting: f64,
}

struct Engine {
    model: EngineModel,
    requests: HashMap<JobId, usize>,
    is_stepping: bool,
}

enum Due {
    Step { replica: usize, finished: Vec<Finished> },
    Dispatcher(u64),
    Reports,
}

struct Fleet<'a> {
    requests: &'a [Request],
    engines: Vec<Engine>,
    due: BTreeMap<(u64, u64), Due>,
    serial: u64,
    now_us: u64,
}

/// Runs `requests` on so many engines until nothing is left to happen.
pub(super) fn run(
    requests: &[Request],
    cost: &CostModel,
    replicas: usize,
    dispatcher: &mut dyn Dispatcher,
) -> Outcome {
    let engine =
        || Engine { model: EngineModel::new(cost.clone()), requests: HashMap::new(), is_stepping: false };
    let engines = (0..replicas).map(|_| engine()).collect();
    let mut fleet = Fleet { requests, engines, due: BTreeMap::new(), serial: 0, now_us: 0 };
    let mut outcome = Outcome::default();
    let mut waiting = Vec::new();
    fleet.after(REPORT_US, Due::Reports);
    fleet.tell(dispatcher, Event::Start);
    while outcome.completed < requests.len()
        && let Some(((at, _), due)) = fleet.due.pop_first()
    {
        fleet.now_us = at;
        match due {
            Due::Dispatcher(number) => fleet.tell(dispatcher, Event::Due(number)),
            Due::Reports => {
                for replica in 0..replicas {
                    let stats = fleet.engines[replica].model.stats();
                    waiting.push(stats.num_requests_waiting as f64);
                    fleet.tell(dispatcher, Event::Reported { replica, stats });
                }
                fleet.after(REPORT_US, Due::Reports);
            }
            Due::Step { replica, finished } => {
                fleet.engines[replica].is_stepping = false;
                outcome.completed += finished.len();
                for job in finished {
                    let Some(request) = fleet.engines[replica].requests.remove(&job.id) else { continue };
                    fleet.tell(dispatcher, Event::Completed { replica, request });
                }
                fleet.step(replica);
            }
        }
    }
    let counted =
        |of: fn(&EngineModel) -> u64| fleet.engines.iter().map(|it| of(&it.model)).sum::<u64>() as f64;
    outcome.waiting = waiting.iter().sum::<f64>() / waiting.len().max(1) as f64;
    outcome.seconds = fleet.now_us as f64 / 1e6;
    outcome.hit_rate = counted(|it| it.stats().prefix_cache_hits_total)
        / counted(|it| it.stats().prefix_cache_queries_total).max(1.0);
    outcome
}

impl Fleet<'_> {
    fn tell(&mut self, dispatcher: &mut dyn Dispatcher, event: Event) {
        for work in dispatcher.on(event, self.now_us) {
            match work {
                Work::Send { replica, request } => {
                    let engine = &mut self.engines[replica];
                    if let Some(id) = engine.model.submit(self.requests[request].job.clone()) {
                        engine.requests.insert(id, request);
                    }
                    // Steps begin once everything of this moment has been sent.
                    if !engine.is_stepping {
                        engine.is_stepping = true;
                        self.after(0, Due::Step { replica, finished: Vec::new() });
                    }
                }
                Work::After { us, number } => self.after(us, Due::Dispatcher(number)),
            }
        }
    }

    fn after(&mut self, us: u64, due: Due) {
        self.serial += 1;
        self.due.insert((self.now_us + us, self.serial), due);
    }

    fn step(&mut self, replica: usize) {
        let engine = &mut self.engines[replica];
        if !engine.is_stepping && !engine.model.is_idle() {
            engine.is_stepping = true;
            let step = engine.model.step(RUNNING_MAX);
            let us = u64::try_from(step.duration.as_micros()).unwrap_or(u64::MAX);
            self.after(us, Due::Step { replica, finished: step.finished });
        }
    }
}
