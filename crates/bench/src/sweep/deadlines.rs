//! Whether requests complete before their deadlines, if an engine is almost fully loaded.

use std::collections::VecDeque;
use std::fmt;

use overnight_domain::scheduler::Settings;
use serde::Serialize;

use super::CONCURRENCY;
use super::fleet::{self, Dispatcher, Event, Work};
use super::swept::{Limit, Swept};
use super::workload::{Kind, Request, Workload};

/// Requests of a night on one replica, as a multiple of a workload. The engine's speed is chosen so that they fill the night.
const TIMES: usize = 10;
const HOUR_US: u64 = 3_600_000_000;
const WINDOW_US: u64 = 3 * HOUR_US;
/// Work at the beginning, as a share of the engine's capacity within the window.
const FIRST: f64 = 0.85;
/// Later work, as a share of the engine's capacity, and the number of its parts, one every [`EVERY_US`].
const LOAD: f64 = 0.9;
const NIGHT_PARTS: u64 = 18;
/// The interval of arrivals.
const EVERY_US: u64 = HOUR_US / 3;
/// Numbers of timers that are not the scheduler's.
const ARRIVAL: u64 = 1 << 62;

/// Questions about documents that arrive over a night, each with a deadline of three hours.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct DeadlineFigures {
    pub seed: u64,
    pub replicas: usize,
    pub requests: usize,
    /// The late share in order of arrival.
    pub arrival_late: f64,
    /// The late share in the service's order without its deadline guard.
    pub unguarded_late: f64,
    /// The late share in the service's order.
    pub late: f64,
    /// Prompt tokens found in the cache without the guard, as a share of all.
    pub unguarded_hit_rate: f64,
    /// Prompt tokens found in the cache, as a share of all.
    pub hit_rate: f64,
}

enum Queue {
    Arrival { waiting: VecDeque<usize>, free: Vec<u32> },
    Swept(Box<Swept>),
}

/// Lets requests arrive, and fails those that still wait at their deadline.
struct Night {
    queue: Queue,
    /// The arrival time of each request; in order.
    arrivals: Vec<u64>,
    next: usize,
    late: usize,
}

impl Night {
    fn new(queue: Queue, arrivals: Vec<u64>) -> Self {
        Self { queue, arrivals, next: 0, late: 0 }
    }

    fn arrive(&mut self, now_us: u64) -> Vec<Work> {
        let first = self.next;
        self.next = self.arrivals.partition_point(|at| *at <= now_us);
        let new = first..self.next;
        let mut works = match &mut self.queue {
            Queue::Arrival { waiting, .. } => {
                waiting.extend(new);
                Vec::new()
            }
            Queue::Swept(swept) => swept.arrive(new, now_us + WINDOW_US, now_us),
        };
        works.extend(self.arrivals.get(self.next).map(|at| Work::After { us: at - now_us, number: ARRIVAL }));
        works
    }

    /// In order of arrival: drops overdue requests and fills the free slots.
    fn fill(&mut self, now_us: u64) -> Vec<Work> {
        let Queue::Arrival { waiting, free } = &mut self.queue else { return Vec::new() };
        let mut works = Vec::new();
        while let Some(replica) = free.iter().position(|free| *free > 0)
            && let Some(request) = waiting.pop_front()
        {
            if self.arrivals[request] + WINDOW_US <= now_us {
                self.late += 1;
                works.push(Work::Fail);
            } else {
                free[replica] -= 1;
                works.push(Work::Send { replica, request });
            }
        }
        works
    }
}

impl Dispatcher for Night {
    fn on(&mut self, event: Event, now_us: u64) -> Vec<Work> {
        if let Event::Completed { request, replica } = event {
            self.late += usize::from(self.arrivals[request] + WINDOW_US < now_us);
            if let Queue::Arrival { free, .. } = &mut self.queue {
                free[replica] += 1;
            }
        }
        let mut works = match (&mut self.queue, event) {
            (_, Event::Due(ARRIVAL)) => self.arrive(now_us),
            (Queue::Swept(swept), event) => {
                let mut works = swept.on(event, now_us);
                let expired = swept.expire(now_us);
                self.late += expired.iter().filter(|work| matches!(work, Work::Fail)).count();
                works.extend(expired);
                works
            }
            _ => Vec::new(),
        };
        if matches!(event, Event::Start) {
            works.extend(self.arrive(now_us));
        }
        works.extend(self.fill(now_us));
        works
    }
}

/// Runs a night with this number of seeds.
pub(super) fn measure(requests: usize, seeds: usize) -> Vec<DeadlineFigures> {
    let fleets = [1, 4].into_iter().flat_map(|replicas| (0..seeds as u64).map(move |seed| (replicas, seed)));
    fleets.map(|(replicas, seed)| measure_one(requests, replicas, seed)).collect()
}

fn measure_one(requests: usize, replicas: usize, seed: u64) -> DeadlineFigures {
    let (all, arrivals) = arrivals(requests * replicas * TIMES, seed);
    let mut cost = Kind::DocumentQa.generate(0, seed).cost;
    let whole = fleet::run(&all, &cost, replicas, &mut Swept::new(&all, replicas, Limit::Told(CONCURRENCY)));
    let slower = work_us(0, NIGHT_PARTS) / whole.us as f64;
    cost.prompt_tokens_per_second /= slower;
    cost.output_tokens_per_second /= slower;
    cost.context_tokens_per_second /= slower;
    let night = |queue| {
        let mut night = Night::new(queue, arrivals.clone());
        let outcome = fleet::run(&all, &cost, replicas, &mut night);
        (night.late as f64 / all.len() as f64, outcome.hit_rate)
    };
    let swept = |guard_ms| {
        let settings = Settings { deadline_guard_ms: guard_ms, ..Settings::default() };
        let swept = Swept::new(&all, replicas, Limit::Told(CONCURRENCY)).with_settings(settings, seed);
        night(Queue::Swept(Box::new(swept.with_arrivals())))
    };
    let (arrival_late, _) =
        night(Queue::Arrival { waiting: VecDeque::new(), free: vec![CONCURRENCY; replicas] });
    let (unguarded_late, unguarded_hit_rate) = swept(i64::MIN / 2);
    let (late, hit_rate) = swept(Settings::default().deadline_guard_ms);
    DeadlineFigures {
        seed,
        replicas,
        requests: all.len(),
        arrival_late,
        unguarded_late,
        late,
        unguarded_hit_rate,
        hit_rate,
    }
}

/// The duration of the work that arrives in these parts of the night.
fn work_us(first: u64, last: u64) -> f64 {
    let later = (last + 1).saturating_sub(first.max(1)) * EVERY_US;
    later as f64 * LOAD + if first == 0 { WINDOW_US as f64 * FIRST } else { 0.0 }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a number of requests")]
const fn whole(requests: f64) -> usize {
    requests as usize
}

/// The requests of a night, and their arrival times.
fn arrivals(count: usize, seed: u64) -> (Vec<Request>, Vec<u64>) {
    let (mut all, mut arrivals) = (Vec::new(), Vec::new());
    for part in 0..=NIGHT_PARTS {
        let share = work_us(part, part) * count as f64 / work_us(0, NIGHT_PARTS);
        let Workload { requests, .. } = Kind::DocumentQa.generate(whole(share), seed ^ (part + 1) << 16);
        arrivals.resize(arrivals.len() + requests.len(), part * EVERY_US);
        all.extend(requests);
    }
    (all, arrivals)
}

impl DeadlineFigures {
    pub(super) fn write_all(lines: &[Self], formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            formatter,
            "{:<22} {:>8} {:>4} {:>9} {:>13} {:>20} {:>20}",
            "late within a night",
            "replicas",
            "seed",
            "requests",
            "arrival",
            "without the guard",
            "with the guard"
        )?;
        for line in lines {
            writeln!(
                formatter,
                "{:<22} {:>8} {:>4} {:>9} {:>11.2} % {:>10.2} % ({:.3}) {:>10.2} % ({:.3})",
                "at 90 % of capacity",
                line.replicas,
                line.seed,
                line.requests,
                100.0 * line.arrival_late,
                100.0 * line.unguarded_late,
                line.unguarded_hit_rate,
                100.0 * line.late,
                line.hit_rate
            )?;
        }
        Ok(())
    }
}
