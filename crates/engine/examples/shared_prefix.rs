//! Measures what batching and a shared prefix are worth: 8 requests that share 449 of 475 prompt tokens, 48 new tokens
//! each, greedy, on one thread: together from one account, together from eight accounts that share no prefix, and one by one with nothing
//! reused.
//!
//! `cargo run --release -p overnight-engine --example shared_prefix -- MODEL.gguf [ROUNDS]`

use std::{
    env, fs,
    io::{self, Write},
    sync::{Arc, atomic::AtomicBool},
    time::Instant,
};

use overnight_engine::{
    llama::{Llama, Settings},
    metrics::Metrics,
    model::{Capacity, Token, Vocabulary},
    sampling::Sampling,
    scheduler::{Generation, Job, Scheduler},
};
use tokio::sync::oneshot;

type Failure = Box<dyn std::error::Error + Send + Sync>;

const REQUESTS: usize = 8;
const SHARED_TOKENS: usize = 449;
const PROMPT_TOKENS: usize = 475;
const NEW_TOKENS: usize = 48;

/// Seconds of CPU, and the prompt tokens that were computed in them.
struct Cost {
    seconds: f64,
    prompt_tokens: usize,
}

fn main() -> Result<(), Failure> {
    let mut arguments = env::args().skip(1);
    let path = arguments.next().ok_or("the path of a model is needed")?;
    let rounds: usize = arguments.next().map_or(Ok(5), |rounds| rounds.parse())?;
    let settings =
        Settings { path: path.into(), threads: 1, parallel: REQUESTS, context: 1024, gpu_layers: None };
    let llama = Llama::load(settings, Arc::new(AtomicBool::new(false)))?;
    let prompts = prompts(llama.vocabulary().as_ref());
    let (mut together, mut separate, mut apart) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..rounds {
        together.push(run(&llama, llama.capacity(), &prompts, false)?);
        separate.push(run(&llama, llama.capacity(), &prompts, true)?);
        apart.push(run_apart(&llama, &prompts)?);
    }
    let mut out = io::stdout();
    let one_account = report(&mut out, "one account", together)?;
    let eight_accounts = report(&mut out, "8 accounts", separate)?;
    let slow = report(&mut out, "one by one", apart)?;
    writeln!(out, "ratios       {:.2} and {:.2}", one_account / slow, eight_accounts / slow)?;
    Ok(())
}

fn run_apart(llama: &Llama, prompts: &[Vec<Token>]) -> Result<Cost, Failure> {
    let capacity = Capacity { parallel: 1, shares_prefixes: false, ..llama.capacity() };
    let mut whole = Cost { seconds: 0.0, prompt_tokens: 0 };
    for prompt in prompts {
        let cost = run(llama, capacity, std::slice::from_ref(prompt), false)?;
        whole.seconds += cost.seconds;
        whole.prompt_tokens += cost.prompt_tokens;
    }
    Ok(whole)
}

/// All prompts at once; each has its own salt if they are `separate`.
fn run(llama: &Llama, capacity: Capacity, prompts: &[Vec<Token>], separate: bool) -> Result<Cost, Failure> {
    let metrics = Arc::new(Metrics::default());
    let mut scheduler = Scheduler::new(llama.decoder()?, llama.vocabulary(), capacity, Arc::clone(&metrics));
    let before = cpu_seconds();
    let answers: Vec<_> = prompts
        .iter()
        .enumerate()
        .map(|(number, prompt)| {
            let (respond, answer) = oneshot::channel();
            scheduler.submit(Job {
                prompt: prompt.as_slice().into(),
                salt: separate.then(|| number.to_string().into()),
                account: "".into(),
                generation: generation(),
                grammar: None,
                respond,
            });
            answer
        })
        .collect();
    while scheduler.step() {}
    let seconds = cpu_seconds() - before;
    for mut answer in answers {
        let tokens = answer.try_recv()??.choices[0].tokens;
        assert_eq!(tokens, NEW_TOKENS, "an answer fell short");
    }
    let (needed, found) = metrics.prefix_counts();
    Ok(Cost { seconds, prompt_tokens: needed - found })
}

fn generation() -> Generation {
    Generation {
        tokens_max: NEW_TOKENS,
        sampling: Sampling { temperature: 0.0, ..Sampling::default() },
        ignores_end: true,
        ..Generation::default()
    }
}

fn prompts(vocabulary: &dyn Vocabulary) -> Vec<Vec<Token>> {
    let tokens =
        |text: &str, count| vocabulary.tokenize(&mut std::iter::once(text)).into_iter().cycle().take(count);
    let shared = tokens(
        "A document that many questions are asked about, at night, when machines are idle. ",
        SHARED_TOKENS,
    );
    let shared: Vec<Token> = shared.collect();
    let question = |number: usize| {
        let own = tokens(&format!("{number}: what does it say of {number}? "), PROMPT_TOKENS - SHARED_TOKENS);
        shared.iter().copied().chain(own).collect()
    };
    (0..REQUESTS).map(question).collect()
}

/// Prints the median and returns its tokens per CPU second.
fn report(out: &mut impl Write, name: &str, mut costs: Vec<Cost>) -> Result<f64, Failure> {
    costs.sort_by(|one, other| one.seconds.total_cmp(&other.seconds));
    let median = costs.get(costs.len() / 2).ok_or("at least one round is needed")?;
    let new_tokens = f64::from(u32::try_from(REQUESTS * NEW_TOKENS)?);
    let speed = new_tokens / median.seconds;
    writeln!(
        out,
        "{name:<12} {speed:8.1} tokens per CPU second, {} prompt tokens computed",
        median.prompt_tokens
    )?;
    Ok(speed)
}

/// CPU time of this thread, which computes alone; elsewhere than on Linux, the time that passed.
fn cpu_seconds() -> f64 {
    #[expect(clippy::disallowed_methods, reason = "a measure of time")]
    let now = Instant::now();
    static START: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    let passed = now.duration_since(*START.get_or_init(|| now)).as_secs_f64();
    let schedstat = fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = schedstat.and_then(|text| text.split_whitespace().next()?.parse::<f64>().ok());
    nanoseconds.map_or(passed, |nanoseconds| nanoseconds / 1e9)
}
