//! Lines of published traces: the lengths of requests and the blocks that their prompts share, without their text.

use std::io::{self, BufRead, Read as _};

use serde::Deserialize;
use serde::de::IgnoredAny;

/// The source of a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TraceFormat {
    /// Mooncake (R. Qin et al., 2025): a hash names 512 tokens.
    Mooncake,
    /// Alibaba's Bailian (J. Wang et al.: "KVCache cache in the wild", 2025): a hash names 16 tokens.
    QwenBailian,
}

impl TraceFormat {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mooncake => "mooncake",
            Self::QwenBailian => "qwen-bailian",
        }
    }

    /// Tokens of the prompt that one hash names.
    pub(super) const fn block_tokens(self) -> usize {
        match self {
            Self::Mooncake => 512,
            Self::QwenBailian => 16,
        }
    }
}

/// The limit of a line's length, and of the prompt's and answer's lengths.
const LINE_BYTES_MAX: u64 = 1 << 20;
const TOKENS_MAX: usize = 1 << 20;

/// A request in a line.
#[derive(Debug, Deserialize)]
pub(super) struct Line {
    /// Milliseconds or seconds; lines are ordered by it.
    pub(super) timestamp: f64,
    pub(super) input_length: usize,
    pub(super) output_length: usize,
    /// Each hash is of a block with all blocks before it.
    pub(super) hash_ids: Vec<u64>,
    /// Only Bailian's lines have it.
    chat_id: Option<IgnoredAny>,
}

pub(super) struct Lines<R> {
    source: R,
    number: usize,
    text: Vec<u8>,
}

impl<R: BufRead> Lines<R> {
    pub(super) const fn new(source: R) -> Self {
        Self { source, number: 0, text: Vec::new() }
    }

    /// The next line with its number; `None` at the end.
    pub(super) fn next(&mut self) -> io::Result<Option<(usize, Line)>> {
        self.text.clear();
        self.number += 1;
        if self.source.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut self.text)? == 0 {
            return Ok(None);
        }
        if self.text.len() as u64 == LINE_BYTES_MAX && !self.text.ends_with(b"\n") {
            return Err(fault(self.number, &format!("longer than {LINE_BYTES_MAX} bytes")));
        }
        let line: Line = serde_json::from_slice(&self.text).map_err(|error| {
            // The JSON reader counts lines too, and sees only one.
            let words = error.to_string();
            let words = words.split(" at line ").next().unwrap_or(&words);
            fault(self.number, &format!("{words}, column {}", error.column()))
        })?;
        if !(1..=TOKENS_MAX).contains(&line.input_length) || line.output_length > TOKENS_MAX {
            let message = format!("input_length is 1 to {TOKENS_MAX} and output_length at most {TOKENS_MAX}");
            return Err(fault(self.number, &message));
        }
        Ok(Some((self.number, line)))
    }
}

impl Line {
    /// The format of these lines.
    pub(super) const fn format(&self) -> TraceFormat {
        match self.chat_id {
            Some(_) => TraceFormat::QwenBailian,
            None => TraceFormat::Mooncake,
        }
    }
}

pub(super) fn fault(number: usize, message: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("line {number}: {message}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> io::Result<Vec<Line>> {
        let mut lines = Lines::new(text.as_bytes());
        let mut all = Vec::new();
        while let Some((number, line)) = lines.next()? {
            all.push(line);
            assert_eq!(number, all.len());
        }
        Ok(all)
    }

    #[test]
    fn lines_of_both_formats_are_read_and_told_apart() {
        let text = "{\"timestamp\": 27482, \"input_length\": 1030, \"output_length\": 52, \"hash_ids\": [46, 47, 48]}\n\
            {\"chat_id\": 159, \"parent_chat_id\": -1, \"timestamp\": 61.114, \"input_length\": 21, \"output_length\": 13, \
             \"type\": \"text\", \"turn\": 1, \"hash_ids\": [1089, 1090]}";
        let [mooncake, bailian] = read(text).unwrap().try_into().unwrap();
        assert_eq!((mooncake.format(), bailian.format()), (TraceFormat::Mooncake, TraceFormat::QwenBailian));
        assert_eq!((mooncake.input_length, mooncake.hash_ids.len()), (1_030, 3));
        assert!((bailian.timestamp - 61.114).abs() < 1e-9);
    }

    #[test]
    fn a_fault_names_its_line() {
        let good = r#"{"timestamp": 0, "input_length": 5, "output_length": 1, "hash_ids": [1]}"#;
        for bad in [
            String::new(),
            "{".to_owned(),
            good.replace("hash_ids", "hashes"),
            good.replace('5', "0"),
            good.replace('5', "9999999999"),
            good.replace("[1]", "[-1]"),
        ] {
            let error = read(&format!("{good}\n{bad}\n{good}")).unwrap_err().to_string();
            assert!(error.starts_with("line 2: ") && !error.contains("line 1"), "{bad}: {error}");
        }
        let long = format!("{good}\n{}", " ".repeat(2 << 20));
        assert_eq!(read(&long).unwrap_err().to_string(), "line 2: longer than 1048576 bytes");
    }
}
