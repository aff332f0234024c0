//! The engine's record of requests: attempts and order of prompts, requests in flight, and how each visit ended.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use super::config::Recording;
use super::{lock, prompt};

/// Counts since the start; deaths do not reset them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    pub connections: u64,
    /// Well-formed completion requests.
    pub arrived: u64,
    /// Requests answered correctly.
    pub answered: u64,
    pub faulted: u64,
    /// Requests refused because no place was free.
    pub refused: u64,
    /// Invalid requests: malformed, an unknown model or key, too long. They are not in `arrived`.
    pub rejected: u64,
    /// Requests whose client closed the connection before the answer.
    pub aborted: u64,
    /// Requests lost when the engine died.
    pub killed: u64,
    /// Requests that run or wait.
    pub in_flight: u64,
    /// The maximum of `in_flight`.
    pub in_flight_max: u64,
}

#[derive(Debug, Default)]
pub(super) struct Recorder {
    log: Mutex<Log>,
    connections: AtomicU64,
    arrived: AtomicU64,
    answered: AtomicU64,
    faulted: AtomicU64,
    refused: AtomicU64,
    rejected: AtomicU64,
    aborted: AtomicU64,
    killed: AtomicU64,
    in_flight: AtomicU64,
    in_flight_max: AtomicU64,
    traceparents: Mutex<Vec<String>>,
    /// Set while the engine dies, so that requests that end then do not count as aborted by their clients.
    pub(super) is_dying: AtomicBool,
}

#[derive(Debug, Default)]
struct Log {
    attempts: HashMap<u64, (Box<str>, u32)>,
    order: Vec<Box<str>>,
}

/// How a visit ended, unless its client or the engine disconnected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    Answered,
    Faulted,
    Refused,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Arrival {
    /// The number of the request, counted from 1 over all.
    pub(super) number: u64,
    /// The number of the attempt, counted from 1 for each prompt; 1 if attempts are not recorded.
    pub(super) attempt: u32,
}

impl Recorder {
    pub(super) fn note_traceparent(&self, header: &str) {
        lock(&self.traceparents).push(header.to_owned());
    }

    pub(super) fn traceparents(&self) -> Vec<String> {
        lock(&self.traceparents).clone()
    }

    pub(super) fn connect(&self) {
        self.connections.fetch_add(1, Relaxed);
    }

    pub(super) fn reject(&self) {
        self.rejected.fetch_add(1, Relaxed);
    }

    /// Records a request; [`Self::depart`] must follow.
    pub(super) fn arrive(
        &self,
        content: &str,
        digest: u64,
        recording: Recording,
        is_directed: bool,
    ) -> Arrival {
        let number = self.arrived.fetch_add(1, Relaxed) + 1;
        let in_flight = self.in_flight.fetch_add(1, Relaxed) + 1;
        self.in_flight_max.fetch_max(in_flight, Relaxed);
        if recording == Recording::Off && !is_directed {
            return Arrival { number, attempt: 1 };
        }
        let mut log = lock(&self.log);
        if recording == Recording::Order {
            log.order.push(content.into());
        }
        let (_, attempts) = log.attempts.entry(digest).or_insert_with(|| (content.into(), 0));
        *attempts += 1;
        Arrival { number, attempt: *attempts }
    }

    /// Records the end of a request; `None` if its connection broke.
    pub(super) fn depart(&self, ending: Option<Ending>) {
        self.in_flight.fetch_sub(1, Relaxed);
        let counter = match ending {
            Some(Ending::Answered) => &self.answered,
            Some(Ending::Faulted) => &self.faulted,
            Some(Ending::Refused) => &self.refused,
            None if self.is_dying.load(Relaxed) => &self.killed,
            None => &self.aborted,
        };
        counter.fetch_add(1, Relaxed);
    }

    pub(super) fn counters(&self) -> Counters {
        Counters {
            connections: self.connections.load(Relaxed),
            arrived: self.arrived.load(Relaxed),
            answered: self.answered.load(Relaxed),
            faulted: self.faulted.load(Relaxed),
            refused: self.refused.load(Relaxed),
            rejected: self.rejected.load(Relaxed),
            aborted: self.aborted.load(Relaxed),
            killed: self.killed.load(Relaxed),
            in_flight: self.in_flight.load(Relaxed),
            in_flight_max: self.in_flight_max.load(Relaxed),
        }
    }

    pub(super) fn attempts_of(&self, content: &str) -> u32 {
        lock(&self.log).attempts.get(&prompt::digest(content)).map_or(0, |(_, attempts)| *attempts)
    }

    pub(super) fn attempts(&self) -> HashMap<String, u32> {
        lock(&self.log)
            .attempts
            .values()
            .map(|(content, attempts)| (content.to_string(), *attempts))
            .collect()
    }

    pub(super) fn order(&self) -> Vec<String> {
        lock(&self.log).order.iter().map(|content| content.to_string()).collect()
    }
}
