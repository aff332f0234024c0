//! The unanswered requests, and the order in which they wait.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
    time::Duration,
};

use super::{
    answer::Answer,
    job::{Choice, Completion, Failure, Job},
};
use crate::model::Token;

/// A choice that runs, or did before it gave its sequence to others.
pub(super) struct Begun {
    pub(super) choice: usize,
    /// The prompt, and the answer so far.
    pub(super) tokens: Arc<[Token]>,
    pub(super) answer: Answer,
}

pub(super) struct Request {
    pub(super) job: Job,
    begun: usize,
    /// Choices that gave their sequences to others.
    parked: VecDeque<Begun>,
    cached_tokens: usize,
    choices: Vec<Option<Choice>>,
    /// What its form took, and the steps in which it drew.
    form_time: Duration,
    step_time: Duration,
}

impl Request {
    pub(super) fn is_parked(&self) -> bool {
        !self.parked.is_empty()
    }

    /// The tokens with which its next sequence begins.
    pub(super) fn tokens(&self) -> &Arc<[Token]> {
        self.parked.front().map_or(&self.job.prompt, |parked| &parked.tokens)
    }
}

/// All requests that are not answered, by number; numbers rise in order of arrival.
#[derive(Default)]
pub(super) struct Requests {
    last: u64,
    all: BTreeMap<u64, Request>,
    waiting: VecDeque<u64>,
}

impl Requests {
    pub(super) fn add(&mut self, job: Job) {
        self.last += 1;
        let choices = vec![None; job.generation.choices];
        let (form_time, step_time) = (Duration::ZERO, Duration::ZERO);
        let parked = VecDeque::new();
        let request = Request { job, begun: 0, parked, cached_tokens: 0, choices, form_time, step_time };
        self.all.insert(self.last, request);
        self.waiting.push_back(self.last);
    }

    /// The request at a place of the queue, where it stays until its last choice began.
    pub(super) fn waiting(&self, place: usize) -> Option<(u64, &Request)> {
        let key = *self.waiting.get(place)?;
        self.all.get(&key).map(|request| (key, request))
    }

    /// The accounts of the requests in the queue.
    pub(super) fn waiting_accounts(&self) -> impl Iterator<Item = &Arc<str>> {
        self.waiting.iter().filter_map(|key| self.all.get(key).map(|request| &request.job.account))
    }

    /// Begins the next choice of a waiting request, of at most `tokens_max` tokens, or continues a parked one. For a further choice the request
    /// goes to the end of the queue: it takes turns with later requests.
    pub(super) fn begin_choice(
        &mut self,
        key: u64,
        cached_tokens: usize,
        tokens_max: usize,
    ) -> Option<Begun> {
        let request = self.all.get_mut(&key)?;
        let begun = request.parked.pop_front().unwrap_or_else(|| {
            let choice = request.begun;
            if choice == 0 {
                request.cached_tokens = cached_tokens;
            }
            request.begun += 1;
            let answer = Answer::new(&request.job, choice as u64, tokens_max);
            Begun { choice, tokens: Arc::clone(&request.job.prompt), answer }
        });
        self.waiting.retain(|&waiting| waiting != key);
        if request.begun < request.choices.len() || request.is_parked() {
            self.waiting.push_back(key);
        }
        Some(begun)
    }

    /// Keeps a choice that gave its sequence to others. Its request is the next in the queue.
    pub(super) fn park(&mut self, key: u64, choice: Begun) {
        let Some(request) = self.all.get_mut(&key) else { return };
        request.parked.push_back(choice);
        self.waiting.retain(|&waiting| waiting != key);
        self.waiting.push_front(key);
    }

    /// Adds the time of a step in which an answer of the request drew a token.
    pub(super) fn add_step(&mut self, key: u64, time: Duration) {
        if let Some(request) = self.all.get_mut(&key) {
            request.step_time += time;
        }
    }

    /// Adds the time that its form took for a token; returns what its form and its steps took in all.
    pub(super) fn add_form(&mut self, key: u64, time: Duration) -> (Duration, Duration) {
        let Some(request) = self.all.get_mut(&key) else { return (time, Duration::ZERO) };
        request.form_time += time;
        (request.form_time, request.step_time)
    }

    /// Stores an ended choice. With the last one the request is answered and removed; then returns true.
    pub(super) fn end_choice(&mut self, key: u64, index: usize, choice: Choice) -> bool {
        let Some(request) = self.all.get_mut(&key) else { return false };
        request.choices[index] = Some(choice);
        if request.choices.iter().any(Option::is_none) {
            return false;
        }
        if let Some(request) = self.all.remove(&key) {
            let completion = Completion {
                prompt_tokens: request.job.prompt.len(),
                cached_tokens: request.cached_tokens,
                choices: request.choices.into_iter().flatten().collect(),
            };
            // Fails if the request was cancelled with the last token.
            let _ = request.job.respond.send(Ok(completion));
        }
        true
    }

    /// Answers a request with a failure; false if it no longer exists.
    pub(super) fn fail(&mut self, key: u64, failure: &Failure) -> bool {
        self.waiting.retain(|&waiting| waiting != key);
        let Some(request) = self.all.remove(&key) else { return false };
        // Fails if the request was cancelled.
        let _ = request.job.respond.send(Err(failure.clone()));
        true
    }

    /// Removes the cancelled requests and returns their numbers.
    pub(super) fn take_cancelled(&mut self) -> Vec<u64> {
        let is_cancelled = |request: &Request| request.job.respond.is_closed();
        let cancelled: Vec<u64> =
            self.all.iter().filter(|(_, request)| is_cancelled(request)).map(|(key, _)| *key).collect();
        for key in &cancelled {
            self.all.remove(key);
            self.waiting.retain(|waiting| waiting != key);
        }
        cancelled
    }

    pub(super) fn is_single(&self) -> bool {
        self.all.len() == 1
    }

    /// Whether the next choice of a request is its first.
    pub(super) fn is_unbegun(&self, key: u64) -> bool {
        self.all.get(&key).is_some_and(|request| request.begun == 0)
    }

    /// How many requests run, and how many wait for their first choice to begin.
    pub(super) fn counts(&self) -> (usize, usize) {
        let waiting = self.all.values().filter(|request| request.begun == 0).count();
        (self.all.len() - waiting, waiting)
    }
}
