//! Engines in virtual time, and the requests sent to them.

use std::collections::{BTreeMap, HashMap};

use overnight_testkit::engine::{CostModel, EngineModel, Finished, JobId, ModelStats};

use super::workload::Request;

#[derive(Debug, Clone, Copy)]
pub(super) enum Event {
    /// All requests wait, and every engine is idle.
    Start,
    /// An engine has completed a request.
    Completed { replica: usize, request: usize },
    /// The time of [`Work::After`] has come.
    Due(u64),
    /// An engine's report, once a second.
    Reported { replica: usize, stats: ModelStats },
    /// The engine died while it worked on a request.
    Broken { request: usize },
    /// The engine does not run, so a request could not be sent.
    Refused { request: usize },
    /// The result of a probe.
    Probed { replica: usize, is_up: bool },
}

/// Concurrent sequences of an engine: vLLM's default.
const RUNNING_MAX: usize = 256;
/// The interval of an engine's reports.
const REPORT_US: u64 = 1_000_000;
/// The duration of a probe, or of a refused connection.
const PROBE_US: u64 = 50_000;
const REFUSAL_US: u64 = 1_000;
/// A request that kills its engine does so this long after it was sent.
const POISON_US: u64 = 100_000;

#[derive(Debug, Clone, Copy)]
pub(super) enum Work {
    Send {
        replica: usize,
        request: usize,
    },
    /// Send [`Event::Due`] with this number after this many microseconds.
    After {
        us: u64,
        number: u64,
    },
    /// Check whether the engine runs.
    Probe {
        replica: usize,
    },
    /// A request has finally failed.
    Fail,
}

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Trouble {
    pub(super) dies_at_us: Option<u64>,
    /// A request that kills it.
    pub(super) poison: Option<usize>,
    /// The duration of each outage.
    pub(super) away_us: u64,
    /// The number of requests in flight with which it is fully used again.
    pub(super) full: usize,
}

/// Decides which request goes where, and when.
pub(super) trait Dispatcher {
    fn on(&mut self, event: Event, now_us: u64) -> Vec<Work>;
}

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Outcome {
    /// Until the last request was completed.
    pub(super) seconds: f64,
    /// The same in microseconds.
    pub(super) us: u64,
    /// Prompt tokens found in a cache, as a share of all.
    pub(super) hit_rate: f64,
    pub(super) completed: usize,
    /// The mean number of requests that waited in an engine.
    pub(super) waiting: f64,
    /// Requests that finally failed.
    pub(super) failed: usize,
    pub(super) deaths: usize,
    /// Requests in flight when it first died.
    pub(super) lost: usize,
    /// From its first return until it had its full number of requests in flight, or all remaining ones.
    pub(super) refill_seconds: Option<f64>,
    /// How long it had fewer since its first return, while it ran.
    pub(super) unfilled_seconds: f64,
}

struct Engine {
    model: EngineModel,
    requests: HashMap<JobId, usize>,
    is_stepping: bool,
    /// The number of deaths: earlier timers are void.
    deaths: usize,
    back_at_us: u64,
}

impl Engine {
    fn new(cost: &CostModel) -> Self {
        let model = EngineModel::new(cost.clone());
        Self { model, requests: HashMap::new(), is_stepping: false, deaths: 0, back_at_us: 0 }
    }
}

enum Due {
    Step { replica: usize, deaths: usize, finished: Vec<Finished> },
    Death { deaths: usize },
    Refused { request: usize },
    Probed { replica: usize },
    Dispatcher(u64),
    Reports,
}

struct Fleet<'a> {
    requests: &'a [Request],
    trouble: Trouble,
    outcome: Outcome,
    engines: Vec<Engine>,
    due: BTreeMap<(u64, u64), Due>,
    serial: u64,
    now_us: u64,
}

/// Runs `requests` on this number of engines until no event is left.
pub(super) fn run(
    requests: &[Request],
    cost: &CostModel,
    replicas: usize,
    dispatcher: &mut dyn Dispatcher,
) -> Outcome {
    run_troubled(requests, cost, replicas, Trouble::default(), dispatcher)
}

/// Like [`run`], with trouble of the first engine.
pub(super) fn run_troubled(
    requests: &[Request],
    cost: &CostModel,
    replicas: usize,
    trouble: Trouble,
    dispatcher: &mut dyn Dispatcher,
) -> Outcome {
    let engines = (0..replicas).map(|_| Engine::new(cost)).collect();
    let outcome = Outcome::default();
    let mut fleet = Fleet { requests, trouble, outcome, engines, due: BTreeMap::new(), serial: 0, now_us: 0 };
    let mut waiting = Vec::new();
    fleet.after(REPORT_US, Due::Reports);
    if let Some(us) = trouble.dies_at_us {
        fleet.after(us, Due::Death { deaths: 0 });
    }
    fleet.tell(dispatcher, Event::Start);
    while fleet.left() > 0
        && let Some(((at, _), due)) = fleet.due.pop_first()
    {
        fleet.pass(at);
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
            Due::Step { replica, deaths, finished } => {
                if fleet.engines[replica].deaths == deaths {
                    fleet.finish_step(dispatcher, replica, finished);
                }
            }
            Due::Death { deaths } => {
                if fleet.engines[0].deaths == deaths {
                    fleet.kill(dispatcher, cost);
                }
            }
            Due::Refused { request } => fleet.tell(dispatcher, Event::Refused { request }),
            Due::Probed { replica } => {
                let is_up = fleet.is_up(replica);
                fleet.tell(dispatcher, Event::Probed { replica, is_up });
            }
        }
        fleet.note_full();
    }
    let counted =
        |of: fn(&EngineModel) -> u64| fleet.engines.iter().map(|it| of(&it.model)).sum::<u64>() as f64;
    fleet.outcome.waiting = waiting.iter().sum::<f64>() / waiting.len().max(1) as f64;
    fleet.outcome.us = fleet.now_us;
    fleet.outcome.seconds = fleet.now_us as f64 / 1e6;
    fleet.outcome.hit_rate = counted(|it| it.stats().prefix_cache_hits_total)
        / counted(|it| it.stats().prefix_cache_queries_total).max(1.0);
    fleet.outcome
}

impl Fleet<'_> {
    fn tell(&mut self, dispatcher: &mut dyn Dispatcher, event: Event) {
        for work in dispatcher.on(event, self.now_us) {
            match work {
                Work::Send { replica, request } => self.send(replica, request),
                Work::After { us, number } => self.after(us, Due::Dispatcher(number)),
                Work::Probe { replica } => self.after(PROBE_US, Due::Probed { replica }),
                Work::Fail => self.outcome.failed += 1,
            }
        }
    }

    fn send(&mut self, replica: usize, request: usize) {
        if !self.is_up(replica) {
            return self.after(REFUSAL_US, Due::Refused { request });
        }
        let engine = &mut self.engines[replica];
        if let Some(id) = engine.model.submit(self.requests[request].job.clone()) {
            engine.requests.insert(id, request);
        }
        let deaths = engine.deaths;
        // Steps begin after all requests of this moment have been sent.
        if !engine.is_stepping {
            engine.is_stepping = true;
            self.after(0, Due::Step { replica, deaths, finished: Vec::new() });
        }
        if self.trouble.poison == Some(request) {
            self.after(POISON_US, Due::Death { deaths });
        }
    }

    fn is_up(&self, replica: usize) -> bool {
        self.engines[replica].back_at_us <= self.now_us
    }

    fn left(&self) -> usize {
        self.requests.len() - self.outcome.completed - self.outcome.failed
    }

    fn after(&mut self, us: u64, due: Due) {
        self.serial += 1;
        self.due.insert((self.now_us + us, self.serial), due);
    }

    fn finish_step(&mut self, dispatcher: &mut dyn Dispatcher, replica: usize, finished: Vec<Finished>) {
        self.engines[replica].is_stepping = false;
        for job in finished {
            let Some(request) = self.engines[replica].requests.remove(&job.id) else { continue };
            self.outcome.completed += 1;
            self.tell(dispatcher, Event::Completed { replica, request });
        }
        let engine = &mut self.engines[replica];
        if !engine.is_stepping && !engine.model.is_idle() {
            engine.is_stepping = true;
            let step = engine.model.step(RUNNING_MAX);
            let (deaths, us) = (engine.deaths, u64::try_from(step.duration.as_micros()).unwrap_or(u64::MAX));
            self.after(us, Due::Step { replica, deaths, finished: step.finished });
        }
    }

    /// The first engine dies with all its requests, and a new one replaces it later.
    fn kill(&mut self, dispatcher: &mut dyn Dispatcher, cost: &CostModel) {
        let (deaths, back_at_us) = (self.engines[0].deaths + 1, self.now_us + self.trouble.away_us);
        let dead =
            std::mem::replace(&mut self.engines[0], Engine { deaths, back_at_us, ..Engine::new(cost) });
        self.outcome.deaths = deaths;
        if deaths == 1 {
            self.outcome.lost = dead.requests.len();
        }
        let mut broken: Vec<usize> = dead.requests.into_values().collect();
        broken.sort_unstable();
        for request in broken {
            self.tell(dispatcher, Event::Broken { request });
        }
    }

    /// Whether the first engine, back from its first death, has every slot taken, or all remaining requests.
    fn is_full_again(&self) -> Option<bool> {
        let engine = &self.engines[0];
        let is_back = engine.deaths > 0 && self.is_up(0);
        is_back.then(|| engine.requests.len() >= self.trouble.full.min(self.left()))
    }

    fn pass(&mut self, at_us: u64) {
        if self.is_full_again() == Some(false) {
            self.outcome.unfilled_seconds += (at_us - self.now_us) as f64 / 1e6;
        }
        self.now_us = at_us;
    }

    fn note_full(&mut self) {
        if self.outcome.refill_seconds.is_none() && self.is_full_again() == Some(true) {
            self.outcome.refill_seconds = Some((self.now_us - self.engines[0].back_at_us) as f64 / 1e6);
        }
    }
}
