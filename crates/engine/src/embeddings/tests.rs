use std::sync::{Arc, Mutex};

use tokio::sync::oneshot::{self, Receiver};

use super::{Embeddings, Job};
use crate::{
    metrics::Metrics,
    model::{DecodeFailed, Embedder, EmbedderCapacity, STEP_TOKENS_MAX, Token},
};

/// The first token that fails a step, and the first that gives NaN.
const FAILS: Token = 900;
const GIVES_NONE: Token = 901;

/// A model whose vector is the first token and the length. It checks and records its calls.
struct FakeEmbedder(Arc<Mutex<Vec<Vec<usize>>>>);

impl Embedder for FakeEmbedder {
    fn embed(&mut self, inputs: &[&[Token]]) -> Result<Vec<Vec<f32>>, DecodeFailed> {
        let lengths: Vec<usize> = inputs.iter().map(|input| input.len()).collect();
        assert!(!inputs.is_empty() && !lengths.contains(&0));
        assert!(inputs.len() == 1 || lengths.iter().sum::<usize>() <= STEP_TOKENS_MAX, "{lengths:?}");
        self.0.lock().expect("a lock").push(lengths);
        if inputs.iter().any(|input| input[0] == FAILS) {
            return Err(DecodeFailed("told to".to_owned()));
        }
        let number = |number: u32| f32::from(u16::try_from(number).expect("a small number"));
        let first = |input: &[Token]| if input[0] == GIVES_NONE { f32::NAN } else { number(input[0]) };
        let length = |input: &[Token]| number(u32::try_from(input.len()).expect("a length"));
        Ok(inputs.iter().map(|input| vec![first(input), length(input)]).collect())
    }
}

struct Bench {
    embeddings: Embeddings<FakeEmbedder>,
    metrics: Arc<Metrics>,
    log: Arc<Mutex<Vec<Vec<usize>>>>,
}

type Answer = Receiver<Result<Vec<Vec<f32>>, DecodeFailed>>;

impl Bench {
    fn new(parallel: usize) -> Self {
        let (metrics, log) = (Arc::new(Metrics::default()), Arc::default());
        let capacity = EmbedderCapacity { context: 2_000, parallel, step_tokens: STEP_TOKENS_MAX, width: 2 };
        let embedder = FakeEmbedder(Arc::clone(&log));
        Self { embeddings: Embeddings::new(embedder, capacity, Arc::clone(&metrics)), metrics, log }
    }

    /// Submits inputs with these first tokens and lengths.
    fn submit(&mut self, inputs: &[(Token, usize)]) -> Answer {
        let (respond, answer) = oneshot::channel();
        let inputs = inputs.iter().map(|&(token, length)| vec![token; length]).collect();
        self.embeddings.submit(Job { inputs, respond });
        answer
    }

    fn finish(&mut self) {
        while self.embeddings.step() {}
    }

    fn steps(&self) -> Vec<Vec<usize>> {
        self.log.lock().expect("a lock").clone()
    }

    fn has_line(&self, line: &str) {
        let page = self.metrics.render("m");
        assert!(page.lines().any(|found| found == line), "{line} is missing in\n{page}");
    }
}

#[test]
fn inputs_of_several_requests_share_steps_and_each_gets_its_own_vectors() {
    let mut bench = Bench::new(32);
    let mut one = bench.submit(&[(1, 10), (2, 20)]);
    let mut other = bench.submit(&[(3, 30)]);
    bench.finish();
    assert_eq!(bench.steps(), [[10, 20, 30]]);
    assert_eq!(one.try_recv().expect("an answer"), Ok(vec![vec![1.0, 10.0], vec![2.0, 20.0]]));
    assert_eq!(other.try_recv().expect("an answer"), Ok(vec![vec![3.0, 30.0]]));
    bench.has_line("vllm:prompt_tokens_total{model_name=\"m\"} 60");
    bench.has_line("vllm:request_success_total{model_name=\"m\",finished_reason=\"stop\"} 2");
    bench.has_line("vllm:num_requests_running{model_name=\"m\"} 0");
}

#[test]
fn a_step_holds_a_bounded_number_of_tokens_and_inputs() {
    let mut bench = Bench::new(3);
    let mut long = bench.submit(&[(1, 300), (2, 1_500), (3, 300)]);
    let mut short = bench.submit(&[(4, 100), (5, 100), (6, 100)]);
    bench.finish();
    let expected: Vec<Vec<usize>> = vec![vec![300, 100, 100], vec![100], vec![1_500], vec![300]];
    assert_eq!(bench.steps(), expected);
    assert_eq!(long.try_recv().expect("an answer").expect("vectors").len(), 3);
    assert_eq!(short.try_recv().expect("an answer").expect("vectors").len(), 3);
}

#[test]
fn a_long_request_delays_no_short_one_and_is_done_though_short_ones_keep_coming() {
    let mut bench = Bench::new(1);
    let mut long = bench.submit(&[(1, 300); 20]);
    assert!(bench.embeddings.step());
    for number in 0..18 {
        let mut short = bench.submit(&[(2, 10)]);
        let steps = (1..=2).find(|_| bench.embeddings.step() && short.try_recv().is_ok());
        assert!(steps.is_some(), "short request {number} waits for more than one step of the long one");
        assert!(long.try_recv().is_err());
    }
    bench.finish();
    assert_eq!(long.try_recv().expect("an answer").expect("vectors").len(), 20);
    let long_before_the_end = bench.steps().iter().take(37).filter(|step| step[..] == [300]).count();
    assert!(long_before_the_end >= 18, "{long_before_the_end}");
}

#[test]
fn a_request_whose_client_left_is_not_computed_on() {
    let mut bench = Bench::new(1);
    let leaving = bench.submit(&[(1, 10), (2, 10)]);
    let mut staying = bench.submit(&[(3, 10)]);
    assert!(bench.embeddings.step());
    bench.has_line("vllm:num_requests_waiting{model_name=\"m\"} 2");
    drop(leaving);
    bench.finish();
    assert_eq!(bench.steps().len(), 2);
    assert_eq!(staying.try_recv().expect("an answer"), Ok(vec![vec![3.0, 10.0]]));
    bench.has_line("vllm:request_success_total{model_name=\"m\",finished_reason=\"abort\"} 1");
}

#[test]
fn a_step_that_fails_ends_those_that_took_part() {
    let mut bench = Bench::new(2);
    let mut failing = bench.submit(&[(FAILS, 10), (1, 10)]);
    let mut later = bench.submit(&[(2, 10)]);
    bench.finish();
    assert!(failing.try_recv().expect("an answer").is_err());
    assert_eq!(later.try_recv().expect("an answer"), Ok(vec![vec![2.0, 10.0]]));
    let mut without_numbers = bench.submit(&[(GIVES_NONE, 10)]);
    bench.finish();
    assert!(without_numbers.try_recv().expect("an answer").is_err());
    bench.has_line("vllm:request_success_total{model_name=\"m\",finished_reason=\"error\"} 2");
}
