//! The engines: their requests in flight, their behaviour, and the outcome of each attempt.

use std::collections::BTreeMap;

use overnight_domain::scheduler::{AttemptError, Lease, ProbeOutcome, Replica, ReplicaKey};

use super::broken::{Step, ensure};
use super::chance::Chance;
use super::tags::Tag;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Weather {
    /// Answers within seconds.
    Fair,
    /// Each tenth attempt fails in some way.
    Flaky,
    Slow,
    /// Answers 429 and 503.
    Full,
    /// Nothing listens; requests in flight failed.
    Down,
    /// Accepts connections and never answers.
    Silent,
    /// A fault of the operator: refuses everything, including probes.
    Barred,
    /// Some answers are invalid completions or belong to another request.
    Lying,
}

/// How engines react to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Nature {
    Plain,
    /// Refused with 400.
    Invalid,
    /// Refused with 405, 410 or 451.
    Unknown,
    Poison,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Verdict {
    Answer,
    /// Answered with the answer to another request, undetectably.
    ForeignAnswer,
    /// Answered with an invalid body.
    Nonsense(&'static str),
    Error(AttemptError),
    Death,
}

#[derive(Debug, Clone)]
pub(super) struct Flight {
    pub(super) lease: Lease,
    pub(super) request: Tag,
}

#[derive(Debug)]
struct Engine {
    limit: usize,
    weather: Weather,
    flights: BTreeMap<i64, Flight>,
}

#[derive(Debug)]
pub(super) struct Engines(BTreeMap<ReplicaKey, Engine>);

const NONSENSE: [&str; 5] = [
    "<html>It works!</html>",
    "",
    r#"{"object":"chat.completion","choices":[]}"#,
    r#"{"object":"chat.completion","choices":[{"message":{"role":"assistant","content":"no usage"}}]}"#,
    r#"{"object":"chat.completion","choices":[{"message":{"role":"assistant","content":"odd usage"}}],
        "usage":{"prompt_tokens":-1,"completion_tokens":2.5,"total_tokens":0}}"#,
];

impl Engines {
    pub(super) fn new(replicas: &[Replica]) -> Self {
        let engine = |replica: &Replica| Engine {
            limit: usize::try_from(replica.max_concurrency).unwrap_or(usize::MAX),
            weather: Weather::Fair,
            flights: BTreeMap::new(),
        };
        Self(replicas.iter().map(|replica| (replica.key, engine(replica))).collect())
    }

    pub(super) fn keys(&self) -> Vec<ReplicaKey> {
        self.0.keys().copied().collect()
    }

    pub(super) fn weather(&self, replica: ReplicaKey) -> Weather {
        self.0.get(&replica).map_or(Weather::Down, |engine| engine.weather)
    }

    pub(super) fn set_weather(&mut self, replica: ReplicaKey, weather: Weather) {
        if let Some(engine) = self.0.get_mut(&replica) {
            engine.weather = weather;
        }
    }

    pub(super) fn probe(&self, replica: ReplicaKey) -> ProbeOutcome {
        match self.weather(replica) {
            Weather::Full => ProbeOutcome::Busy { retry_after_ms: None, message: "full".into() },
            Weather::Silent => ProbeOutcome::TimedOut("no answer".into()),
            Weather::Down | Weather::Barred => ProbeOutcome::Failed("out of order".into()),
            Weather::Fair | Weather::Flaky | Weather::Lying | Weather::Slow => ProbeOutcome::Healthy,
        }
    }

    pub(super) fn is_idle(&self) -> bool {
        self.0.values().all(|engine| engine.flights.is_empty())
    }

    /// A request must not be in flight twice, and an engine's concurrency is not exceeded.
    pub(super) fn send(&mut self, replica: ReplicaKey, flight: Flight) -> Step {
        let seq = flight.lease.key.position.seq;
        ensure!(
            self.0.values().all(|engine| !engine.flights.contains_key(&seq)),
            "seq {seq} is in flight twice"
        );
        if let Some(engine) = self.0.get_mut(&replica) {
            engine.flights.insert(seq, flight);
            let count = engine.flights.len();
            ensure!(
                count <= engine.limit,
                "{count} requests are in flight at {replica:?}, more than it takes"
            );
        }
        Ok(())
    }

    pub(super) fn land(&mut self, replica: ReplicaKey, lease: &Lease) -> Option<Flight> {
        let flights = &mut self.0.get_mut(&replica)?.flights;
        let seq = lease.key.position.seq;
        if flights.get(&seq)?.lease.epoch != lease.epoch {
            return None;
        }
        flights.remove(&seq)
    }

    pub(super) fn requests(&self) -> Vec<Tag> {
        self.0.values().flat_map(|engine| engine.flights.values()).map(|flight| flight.request).collect()
    }

    /// The engine and the lease under which a request is in flight.
    pub(super) fn find(&self, request: Tag) -> Option<(ReplicaKey, Lease)> {
        self.0.iter().find_map(|(key, engine)| {
            let flight = engine.flights.values().find(|flight| flight.request == request)?;
            Some((*key, flight.lease.clone()))
        })
    }

    /// Removes the flight of a request at any engine.
    pub(super) fn abort(&mut self, seq: i64) -> Option<Flight> {
        self.0.values_mut().find_map(|engine| engine.flights.remove(&seq))
    }

    pub(super) fn empty(&mut self, replica: ReplicaKey) -> Vec<Flight> {
        let engine = self.0.get_mut(&replica);
        engine.map(|engine| std::mem::take(&mut engine.flights)).unwrap_or_default().into_values().collect()
    }

    /// The duration of an attempt that begins now.
    pub(super) fn draw_latency_ms(&self, replica: ReplicaKey, timeout_ms: i64, chance: &mut Chance) -> i64 {
        match self.weather(replica) {
            Weather::Fair | Weather::Flaky | Weather::Lying => chance.between(50, 8_000),
            Weather::Slow => chance.between(20_000, 300_000).min(timeout_ms),
            Weather::Full | Weather::Down | Weather::Barred => chance.between(1, 60),
            Weather::Silent => timeout_ms,
        }
    }

    /// The outcome of an attempt that ends now.
    pub(super) fn judge(&self, replica: ReplicaKey, nature: Nature, chance: &mut Chance) -> Verdict {
        let weather = self.weather(replica);
        match (weather, nature) {
            (Weather::Down, _) => Verdict::Error(AttemptError::Connect("refused".into())),
            (Weather::Silent, _) => Verdict::Error(AttemptError::TimedOut("no answer".into())),
            (Weather::Full, _) => {
                let retry_after_ms = chance.strikes(300).then(|| chance.between(0, 20_000));
                status(*chance.pick(&[429, 503]), retry_after_ms)
            }
            (Weather::Barred, _) => status(*chance.pick(&[401, 403, 404]), None),
            (_, Nature::Invalid) => status(*chance.pick(&[400, 413, 422]), None),
            (_, Nature::Unknown) => status(*chance.pick(&[405, 410, 451]), None),
            (_, Nature::Poison) => Verdict::Death,
            (Weather::Flaky, _) if chance.strikes(100) => draw_trouble(chance),
            (Weather::Lying, _) if chance.strikes(300) => Verdict::Nonsense(chance.pick::<&str>(&NONSENSE)),
            (Weather::Lying, _) if chance.strikes(300) => Verdict::ForeignAnswer,
            _ => Verdict::Answer,
        }
    }
}

fn draw_trouble(chance: &mut Chance) -> Verdict {
    match chance.between(0, 7) {
        0 | 1 => Verdict::Error(AttemptError::Reset("broken pipe".into())),
        2 => Verdict::Error(AttemptError::TimedOut("no answer".into())),
        3 => Verdict::Error(AttemptError::Connect("refused".into())),
        4 => Verdict::Nonsense(NONSENSE[0]),
        place => status([500, 502, 504][usize::try_from(place - 5).unwrap_or(0)], None),
    }
}

fn status(code: u16, retry_after_ms: Option<i64>) -> Verdict {
    Verdict::Error(AttemptError::Status { code, message: format!("status {code}"), retry_after_ms })
}
