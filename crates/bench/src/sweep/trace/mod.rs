//! The orders on a published trace. Equal hashes become equal text, so prompts share the same blocks as in the trace.

mod lines;

use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use serde::Serialize;
use serde_json::json;

use overnight_testkit::engine::Job;

use super::chance::Chance;
use super::workload::{A100, FILE_REQUESTS, Request, Workload};
use super::{SweepFigures, measure};
use crate::workload::MODEL;
pub use lines::TraceFormat;
use lines::{Line, Lines, fault};

/// The limit of all prompts' text.
const PROMPT_BYTES_MAX: usize = 1 << 30;
/// A token has this many bytes of text.
const TOKEN_BYTES: usize = 4;
/// Bytes that the engine counts in addition to a message's text: its role and two line breaks.
const AROUND_BYTES: usize = "user\n\n".len();
const REPLICAS: [usize; 2] = [1, 4];
/// Seeds of texts without a hash.
const UNSHARED: u64 = 1 << 63;

/// The effect of every order on a trace.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TraceReport {
    pub format: &'static str,
    /// Requests that were sent.
    pub requests: usize,
    /// Requests that the engine's cache cannot hold.
    pub left_out: usize,
    /// Mean prompt tokens of the sent requests.
    pub prompt_tokens: f64,
    /// Mean output tokens of the sent requests.
    pub output_tokens: f64,
    /// A line for each number of replicas.
    pub lines: Vec<SweepFigures>,
}

/// Runs the first `requests` requests of a trace in every order, in virtual time. Without a format the first line decides it. Fails with
/// the line's number if a line cannot be used.
pub fn run(file: &Path, format: Option<TraceFormat>, requests: usize) -> io::Result<TraceReport> {
    let trace = Trace::read(BufReader::new(File::open(file)?), format, requests)?;
    let Trace { format, left_out, workload } = trace;
    let lines = REPLICAS.into_iter().map(|replicas| measure(format.name(), 0, &workload, replicas)).collect();
    let count = workload.requests.len();
    let mean = |of: fn(&Job) -> usize| {
        workload.requests.iter().map(|request| of(&request.job)).sum::<usize>() as f64 / count as f64
    };
    Ok(TraceReport {
        format: format.name(),
        requests: count,
        left_out,
        prompt_tokens: mean(|job| job.prompt_tokens),
        output_tokens: mean(|job| job.output_tokens),
        lines,
    })
}

#[derive(Debug)]
struct Trace {
    format: TraceFormat,
    left_out: usize,
    workload: Workload,
}

impl Trace {
    fn read(source: impl BufRead, format: Option<TraceFormat>, count: usize) -> io::Result<Self> {
        let mut lines = Lines::new(source);
        let (mut format, mut requests, mut left_out, mut bytes) = (format, Vec::new(), 0, 0);
        while requests.len() < count
            && let Some((number, line)) = lines.next()?
        {
            let format = *format.get_or_insert(line.format());
            if line.input_length + line.output_length.max(1) > A100.kv_cache_tokens {
                left_out += 1;
                continue;
            }
            bytes += line.input_length * TOKEN_BYTES;
            if bytes > PROMPT_BYTES_MAX {
                return Err(fault(number, "the prompts are longer than 1 GiB: use fewer requests"));
            }
            requests.push((line.timestamp, request(&line, format, number)));
        }
        requests.sort_by(|one, other| one.0.total_cmp(&other.0));
        let requests = requests
            .into_iter()
            .enumerate()
            .map(|(at, (_, request))| Request { file: at / FILE_REQUESTS, ..request });
        let requests: Vec<Request> = requests.collect();
        match format {
            Some(format) if !requests.is_empty() => {
                Ok(Self { format, left_out, workload: Workload { requests, cost: A100 } })
            }
            _ => Err(fault(1, "no request that the modelled engine can hold")),
        }
    }
}

/// A request with the line's lengths, whose prompt begins with the texts of its hashes.
fn request(line: &Line, format: TraceFormat, number: usize) -> Request {
    let bytes = (line.input_length * TOKEN_BYTES).saturating_sub(AROUND_BYTES).max(1);
    let mut prompt = String::with_capacity(bytes + format.block_tokens() * TOKEN_BYTES);
    for hash in &line.hash_ids {
        if prompt.len() < bytes {
            prompt.push_str(&Chance::new(*hash).words(format.block_tokens()));
        }
    }
    if prompt.len() < bytes {
        let rest = (bytes - prompt.len()).div_ceil(TOKEN_BYTES);
        prompt.push_str(&Chance::new(UNSHARED | number as u64).words(rest));
    }
    prompt.truncate(bytes);
    let messages = json!([{"role": "user", "content": prompt}]);
    let body = json!({"model": MODEL, "messages": messages, "max_tokens": line.output_length.max(1)});
    let body = body.to_string().into_bytes();
    let job = Job::from_body(&body).unwrap_or_default();
    Request { account: 1, file: 0, body, job }
}

impl fmt::Display for TraceReport {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            formatter,
            "{}: {} requests of {:.0} prompt and {:.0} output tokens in the mean; left out: {}",
            self.format, self.requests, self.prompt_tokens, self.output_tokens, self.left_out
        )?;
        SweepFigures::write_all(&self.lines, formatter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(timestamp: u32, input_length: usize, hash_ids: &[u64]) -> String {
        format!(
            "{{\"timestamp\": {timestamp}, \"input_length\": {input_length}, \"output_length\": 7, \"hash_ids\": {hash_ids:?}}}\n"
        )
    }

    fn read(text: &str, format: Option<TraceFormat>) -> Trace {
        Trace::read(text.as_bytes(), format, 100).unwrap()
    }

    fn shared_blocks(trace: &Trace) -> usize {
        let [one, other] = trace.workload.requests.as_slice() else { panic!("two requests") };
        one.job
            .block_hashes
            .iter()
            .zip(&other.job.block_hashes)
            .take_while(|(one, other)| one == other)
            .count()
    }

    #[test]
    fn requests_have_the_lengths_of_their_lines_and_the_order_of_their_times() {
        let lengths = [2, 15, 16, 17, 511, 512, 513, 1_700];
        let text: String =
            (0..).zip(lengths).map(|(at, length)| line(9 - at, length, &[at.into()])).collect();
        for format in [TraceFormat::Mooncake, TraceFormat::QwenBailian] {
            let trace = read(&text, Some(format));
            let jobs: Vec<_> = trace
                .workload
                .requests
                .iter()
                .map(|it| (it.job.prompt_tokens, it.job.output_tokens))
                .collect();
            let expected: Vec<_> = lengths.into_iter().rev().map(|length| (length, 7)).collect();
            assert_eq!(jobs, expected);
        }
    }

    #[test]
    fn prompts_share_as_many_blocks_as_they_share_hashes() {
        let text = line(0, 1_700, &[4, 5, 6, 7]) + &line(1, 1_600, &[4, 5, 8, 9]);
        assert_eq!(shared_blocks(&read(&text, None)), 2 * 512 / 16);
        let text = text.replace("\"timestamp\"", "\"chat_id\": 1, \"timestamp\"");
        let trace = read(&text, None);
        assert_eq!((trace.format, shared_blocks(&trace)), (TraceFormat::QwenBailian, 2));
        assert_eq!(
            shared_blocks(&read(&(line(0, 90, &[4]) + &line(1, 90, &[4])), Some(TraceFormat::QwenBailian))),
            1
        );
    }

    #[test]
    fn what_the_engine_cannot_hold_is_left_out_and_no_more_is_read_than_asked_for() {
        let text = line(0, 200_000, &[1]) + &line(1, 64, &[2]) + &line(2, 64, &[2]) + "{";
        let trace = Trace::read(text.as_bytes(), None, 2).unwrap();
        assert_eq!((trace.left_out, trace.workload.requests.len()), (1, 2));
        assert!(Trace::read(text.as_bytes(), None, 3).unwrap_err().to_string().starts_with("line 4: "));
        assert!(Trace::read(&b""[..], None, 3).is_err());
    }

    #[test]
    fn every_order_completes_a_trace() {
        let text: String =
            (0..40).map(|at| line(at, 1_100, &[u64::from(at) % 5, 100 + u64::from(at), 200])).collect();
        let line = measure("trace", 0, &read(&text, None).workload, 1);
        assert!(line.sweep.hit_rate > 0.3 && line.sweep.hit_rate <= line.oracle.hit_rate + 0.01);
    }
}
