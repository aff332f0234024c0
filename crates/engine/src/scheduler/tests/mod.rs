//! The scheduler on a fake model, whose answers depend on every earlier token.

mod cancelling;
mod choosing;
mod forming;
mod sharing;

use std::sync::Arc;

use tokio::sync::oneshot::{self, Receiver};

use super::{Completion, Failure, Generation, Job, Scheduler};
use crate::{
    constraint::Grammar,
    fake::{FakeDecoder, FakeVocabulary, Log},
    metrics::Metrics,
    model::{BatchEntry, Capacity, Token},
    sampling::Sampling,
};

type Answer = Receiver<Result<Completion, Failure>>;

const CAPACITY: Capacity = Capacity {
    context: 600,
    cells: 4_800,
    parallel: 8,
    sequences: 16,
    kept_cells: 4_800,
    masked_cells: usize::MAX,
    tile_tokens: 4,
    shares_prefixes: true,
};

struct Bench {
    scheduler: Scheduler<FakeDecoder>,
    metrics: Arc<Metrics>,
    log: Log,
}

impl Bench {
    fn new(capacity: Capacity, next: fn(&[Token]) -> Token) -> Self {
        Self::with(capacity, FakeDecoder::new(capacity, next))
    }

    fn with(capacity: Capacity, (decoder, log): (FakeDecoder, Log)) -> Self {
        let metrics = Arc::new(Metrics::default());
        let vocabulary = Arc::new(FakeVocabulary::default());
        let scheduler = Scheduler::new(decoder, vocabulary, capacity, Arc::clone(&metrics));
        Self { scheduler, metrics, log }
    }

    fn submit(&mut self, prompt: &str, generation: Generation) -> Answer {
        self.submit_formed(prompt, generation, None)
    }

    fn submit_salted(&mut self, prompt: &str, salt: &str) -> Answer {
        let (respond, answer) = oneshot::channel();
        let prompt = prompt.bytes().map(Token::from).collect();
        let (salt, account) = (Some(salt.into()), Arc::from(salt));
        self.scheduler.submit(Job { prompt, salt, account, generation: greedy(20), grammar: None, respond });
        answer
    }

    fn submit_formed(
        &mut self,
        prompt: &str,
        generation: Generation,
        grammar: Option<Arc<Grammar>>,
    ) -> Answer {
        self.submit_of("", prompt, generation, grammar)
    }

    fn submit_of(
        &mut self,
        account: &str,
        prompt: &str,
        generation: Generation,
        grammar: Option<Arc<Grammar>>,
    ) -> Answer {
        let (respond, answer) = oneshot::channel();
        let prompt = prompt.bytes().map(Token::from).collect();
        self.scheduler.submit(Job {
            prompt,
            salt: None,
            account: account.into(),
            generation,
            grammar,
            respond,
        });
        answer
    }

    fn finish(&mut self) {
        while self.scheduler.step() {}
    }

    fn complete(&mut self, prompt: &str, generation: Generation) -> Completion {
        let answer = self.submit(prompt, generation);
        self.finish();
        completion(answer)
    }

    fn batches(&self) -> Vec<Vec<BatchEntry>> {
        self.log.lock().expect("the log").clone()
    }

    fn computed_tokens(&self) -> usize {
        self.batches().iter().map(Vec::len).sum()
    }
}

fn completion(mut answer: Answer) -> Completion {
    answer.try_recv().expect("an answer").expect("a completion")
}

fn texts(completion: &Completion) -> Vec<&str> {
    completion.choices.iter().map(|choice| choice.text.as_str()).collect()
}

/// Greedy, one choice, `tokens_max` tokens.
fn greedy(tokens_max: usize) -> Generation {
    Generation {
        tokens_max,
        sampling: Sampling { temperature: 0.0, ..Sampling::default() },
        ..Generation::default()
    }
}
