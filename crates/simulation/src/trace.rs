//! What happened: a hash that is equal for two runs of a seed, and the last lines for a failure report.

use std::collections::VecDeque;
use std::fmt::{self, Write};

const LINES_KEPT: usize = 80;
const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0100_0000_01b3;

/// The hash is FNV-1a (Fowler, Noll, Vo) of every line.
#[derive(Debug)]
pub(super) struct Trace {
    hash: u64,
    lines: VecDeque<String>,
}

impl Trace {
    pub(super) const fn new() -> Self {
        Self { hash: FNV_OFFSET, lines: VecDeque::new() }
    }

    pub(super) fn note(&mut self, elapsed_ms: i64, what: fmt::Arguments<'_>) {
        let mut line = match self.lines.len() {
            LINES_KEPT.. => self.lines.pop_front().unwrap_or_default(),
            _ => String::new(),
        };
        line.clear();
        let _ = write!(line, "{elapsed_ms:>10} {what}");
        for byte in line.bytes() {
            self.hash = (self.hash ^ u64::from(byte)).wrapping_mul(FNV_PRIME);
        }
        self.lines.push_back(line);
    }

    pub(super) const fn hash(&self) -> u64 {
        self.hash
    }

    pub(super) fn into_lines(self) -> Vec<String> {
        self.lines.into()
    }
}
