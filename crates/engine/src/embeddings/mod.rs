//! Batching of embedding inputs.
//!
//! Steps alternate between the oldest request and the one with the least work left; the rest of a step goes to the others in the same
//! order. So a long request delays short ones by about as long as they take themselves, and still ends however many of them come. Few
//! requests hold vectors: a request that overtakes others has less left than each of them.

#[cfg(test)]
mod tests;
mod vector;

use std::{collections::VecDeque, sync::Arc};

use tokio::sync::oneshot;

pub use self::vector::fit;
use crate::{
    metrics::{Ended, Metrics},
    model::{DecodeFailed, Embedder, EmbedderCapacity, Token},
};

/// A request that waits for its vectors. Dropping the receiver of `respond` cancels it between two steps.
#[derive(Debug)]
pub struct Job {
    /// At least one; each has at least one token, and at most the context.
    pub inputs: Vec<Vec<Token>>,
    /// Receives one vector for each input, as the model makes them.
    pub respond: oneshot::Sender<Result<Vec<Vec<f32>>, DecodeFailed>>,
}

/// The requests of one model. It belongs to one thread, which calls [`Embeddings::step`] as long as there is work.
pub struct Embeddings<E> {
    embedder: E,
    capacity: EmbedderCapacity,
    metrics: Arc<Metrics>,
    /// In order of arrival.
    requests: VecDeque<Request>,
    /// Whether the last step was for the request with the least left.
    was_for_shortest: bool,
}

/// A request with the vectors of its first inputs.
struct Request {
    job: Job,
    vectors: Vec<Vec<f32>>,
    /// How many inputs are in the current step.
    taken: usize,
    /// The tokens of the inputs that have no vectors yet.
    tokens_left: usize,
}

impl<E: Embedder> Embeddings<E> {
    #[must_use]
    pub fn new(embedder: E, capacity: EmbedderCapacity, metrics: Arc<Metrics>) -> Self {
        Self { embedder, capacity, metrics, requests: VecDeque::new(), was_for_shortest: true }
    }

    /// The inputs join the next step that has room.
    pub fn submit(&mut self, job: Job) {
        let tokens_left = job.inputs.iter().map(Vec::len).sum();
        self.requests.push_back(Request { job, vectors: Vec::new(), taken: 0, tokens_left });
        self.report();
    }

    /// Computes one step; returns false if there was nothing to do.
    pub fn step(&mut self) -> bool {
        self.leave_cancelled();
        self.take();
        self.report();
        let is_busy = !self.requests.is_empty();
        if is_busy {
            self.compute();
            self.report();
        }
        is_busy
    }

    fn leave_cancelled(&mut self) {
        let before = self.requests.len();
        self.requests.retain(|request| !request.job.respond.is_closed());
        (self.requests.len()..before).for_each(|_| self.metrics.count_ended(Ended::Abort));
    }

    /// Chooses the inputs of the next step: as many as fit, and the first one however long it is.
    fn take(&mut self) {
        let mut requests: Vec<&mut Request> = self.requests.iter_mut().collect();
        self.was_for_shortest = !self.was_for_shortest;
        if self.was_for_shortest {
            requests.sort_by_key(|request| request.tokens_left);
        }
        let (mut inputs, mut tokens) = (0, 0);
        for request in requests {
            let rest = &request.job.inputs[request.vectors.len()..];
            for input in rest {
                let has_room =
                    inputs < self.capacity.parallel && tokens + input.len() <= self.capacity.step_tokens;
                if inputs > 0 && !has_room {
                    break;
                }
                inputs += 1;
                tokens += input.len();
                request.taken += 1;
                request.tokens_left -= input.len();
            }
        }
    }

    fn compute(&mut self) {
        let taken = |request: &Request| {
            let begin = request.vectors.len();
            begin..begin + request.taken
        };
        let inputs: Vec<&[Token]> = self
            .requests
            .iter()
            .flat_map(|request| request.job.inputs[taken(request)].iter().map(Vec::as_slice))
            .collect();
        match self.embedder.embed(&inputs) {
            Ok(vectors) => self.hand_out(vectors),
            Err(failed) => self.fail(&failed),
        }
    }

    fn hand_out(&mut self, vectors: Vec<Vec<f32>>) {
        let mut vectors = vectors.into_iter();
        for mut request in std::mem::take(&mut self.requests) {
            request.vectors.extend(vectors.by_ref().take(std::mem::take(&mut request.taken)));
            if request.vectors.len() < request.job.inputs.len() {
                self.requests.push_back(request);
                continue;
            }
            self.metrics.count_prompt(request.job.inputs.iter().map(Vec::len).sum());
            let is_finite = request.vectors.iter().flatten().all(|number| number.is_finite());
            self.metrics.count_ended(if is_finite { Ended::Stop } else { Ended::Error });
            let failed = || DecodeFailed("a vector has a number that is infinite or none".to_owned());
            // Fails if the request was cancelled during its last step.
            let _ = request.job.respond.send(if is_finite { Ok(request.vectors) } else { Err(failed()) });
        }
    }

    fn fail(&mut self, failed: &DecodeFailed) {
        for request in std::mem::take(&mut self.requests) {
            if request.taken == 0 {
                self.requests.push_back(request);
                continue;
            }
            self.metrics.count_ended(Ended::Error);
            let _ = request.job.respond.send(Err(failed.clone()));
        }
    }

    fn report(&self) {
        let running = self.requests.iter().filter(|request| request.taken > 0).count();
        self.metrics.set_load(running, self.requests.len() - running, 0.0);
    }
}
