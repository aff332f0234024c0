//! Measures what a form of answers costs: 1,000 answers under a nested schema, and as many free answers of the same lengths, on one
//! thread, eight at a time.
//!
//! `cargo run --release -p overnight-engine --example forms -- MODEL.gguf [ANSWERS]`

use std::{
    env, fs,
    io::{self, Write},
    sync::{Arc, atomic::AtomicBool},
};

use overnight_engine::{
    constraint::{Compiler, Constraint},
    llama::{Llama, Settings},
    metrics::Metrics,
    model::Vocabulary,
    sampling::Sampling,
    scheduler::{Completion, Finish, Generation, Job, Scheduler},
};
use serde_json::{Value, json};
use tokio::sync::oneshot;

type Failure = Box<dyn std::error::Error + Send + Sync>;

const TOKENS_MAX: usize = 800;

fn main() -> Result<(), Failure> {
    let mut arguments = env::args().skip(1);
    let path = arguments.next().ok_or("the path of a model is needed")?;
    let answers: usize = arguments.next().map_or(Ok(1_000), |answers| answers.parse())?;
    let settings = Settings { path: path.into(), threads: 1, parallel: 8, context: 1024 };
    let llama = Llama::load(settings, Arc::new(AtomicBool::new(false)))?;
    let constraint = Compiler::new(llama.vocabulary().as_ref())?.compile(&schema())?;
    let lengths = vec![TOKENS_MAX; answers];
    let (formed, formed_seconds) = run(&llama, &lengths, Some(&constraint))?;
    let is_valid = |completion: &Completion| {
        let answer: Option<Value> = serde_json::from_str(&completion.choices[0].text).ok();
        completion.choices[0].finish == Finish::Stop
            && answer.is_some_and(|answer| answer["customer"]["age"].is_u64())
    };
    let valid = formed.iter().filter(|completion| is_valid(completion)).count();
    let lengths: Vec<usize> = formed.iter().map(|completion| completion.choices[0].tokens).collect();
    let tokens: usize = lengths.iter().sum();
    let (_, free_seconds) = run(&llama, &lengths, None)?;
    let mut out = io::stdout();
    writeln!(out, "valid        {valid} of {answers}, {tokens} tokens")?;
    for (name, seconds) in [("formed", formed_seconds), ("free", free_seconds)] {
        writeln!(
            out,
            "{name:<12} {seconds:.2} CPU seconds, {:.0} tokens a CPU second",
            tokens as f64 / seconds
        )?;
    }
    writeln!(out, "ratio        {:.2}", formed_seconds / free_seconds)?;
    Ok(())
}

fn schema() -> Value {
    let customer = json!({
        "type": "object", "additionalProperties": false, "required": ["name", "age"],
        "properties": {"name": {"type": "string", "maxLength": 20}, "age": {"type": "integer", "minimum": 0, "maximum": 120}},
    });
    json!({
        "type": "object", "additionalProperties": false, "required": ["title", "priority", "customer", "tags"],
        "properties": {
            "title": {"type": "string", "maxLength": 60}, "priority": {"enum": ["low", "normal", "high"]}, "customer": customer,
            "tags": {"type": "array", "maxItems": 3, "items": {"type": "string", "maxLength": 12}},
        },
    })
}

/// An answer of at most each length, and the CPU seconds of this thread, which computes alone.
fn run(
    llama: &Llama,
    lengths: &[usize],
    constraint: Option<&Constraint>,
) -> Result<(Vec<Completion>, f64), Failure> {
    let mut scheduler =
        Scheduler::new(llama.decoder()?, llama.vocabulary(), llama.capacity(), Arc::new(Metrics::default()));
    let before = cpu_seconds()?;
    let mut answers = Vec::with_capacity(lengths.len());
    for (seed, tokens_max) in (0..).zip(lengths) {
        let (respond, answer) = oneshot::channel();
        let prompt = llama.vocabulary().tokenize(&format!("Describe customer {seed} and what they want."));
        let generation = Generation {
            choices: 1,
            tokens_max: *tokens_max,
            stops: Vec::new(),
            sampling: Sampling { seed, ..Sampling::default() },
            logprobs: None,
            ignores_end: constraint.is_none(),
        };
        scheduler.submit(Job { prompt: prompt.into(), generation, constraint: constraint.cloned(), respond });
        answers.push(answer);
    }
    while scheduler.step() {}
    let seconds = cpu_seconds()? - before;
    let completions = answers.into_iter().map(|mut answer| Ok::<_, Failure>(answer.try_recv()??));
    Ok((completions.collect::<Result<_, _>>()?, seconds))
}

fn cpu_seconds() -> Result<f64, Failure> {
    let text = fs::read_to_string("/proc/thread-self/schedstat")?;
    let nanoseconds = text.split_whitespace().next().ok_or("schedstat is empty")?;
    Ok(nanoseconds.parse::<f64>()? / 1e9)
}
