//! The lines of a body, one after the other as they arrive.

use std::sync::Arc;

use axum::body::{Body, Bytes};
use futures_util::{Stream, stream};
use http_body_util::BodyExt;
use overnight_wire::native::bulk::LineDigest;

use crate::bodies::{self, Buffers, SHORT_BYTES};
use crate::errors::Refusal;
use crate::shares::{self, MemoryPermit};

/// Lines that are processed before other tasks get their turn.
const LINES_PER_TURN: u64 = 32;

/// A line up to this many bytes is copied, so that it does not keep its whole chunk in memory.
const COPIED_BYTES_MAX: usize = 16 << 10;

/// A line that is not blank, without its line break (`\n` or `\r\n`), or its refusal. Lines count from 1.
pub(super) struct Line {
    pub(super) number: u64,
    pub(super) sha256: String,
    pub(super) content: Result<Bytes, Refusal>,
}

struct Lines {
    body: Body,
    buffers: Buffers,
    /// The longest line, in bytes.
    limit: usize,
    /// Received but not processed.
    rest: Bytes,
    /// The beginning of the line that `rest` continues, or its refusal.
    beginning: Result<Vec<u8>, Refused>,
    memory: Option<MemoryPermit>,
    number: u64,
    is_over: bool,
}

/// A refused line.
struct Refused {
    why: Refusal,
    digest: LineDigest,
}

/// The lines of a body of at most `limit` bytes each. If the body breaks off, the stream ends with an error, without the incomplete line.
pub(super) fn lines(
    body: Body,
    buffers: Buffers,
    limit: usize,
) -> impl Stream<Item = Result<Line, Refusal>> + Send {
    let lines = Lines {
        body,
        buffers,
        limit,
        rest: Bytes::new(),
        beginning: Ok(Vec::new()),
        memory: None,
        number: 1,
        is_over: false,
    };
    stream::try_unfold(lines, async |mut lines: Lines| Ok(lines.next().await?.map(|line| (line, lines))))
}

impl Lines {
    /// The next line; `None` at the end of the body.
    async fn next(&mut self) -> Result<Option<Line>, Refusal> {
        loop {
            if self.number.is_multiple_of(LINES_PER_TURN) {
                // Lines that have arrived already would block other tasks of the thread.
                tokio::task::yield_now().await;
            }
            if let Some(end) = memchr::memchr(b'\n', &self.rest) {
                let piece = self.rest.split_to(end);
                self.rest = self.rest.slice(1..);
                if let Some(line) = self.end_line(piece).await {
                    return Ok(Some(line));
                }
                continue;
            }
            if self.is_over {
                let piece = std::mem::take(&mut self.rest);
                return Ok(self.end_line(piece).await);
            }
            self.keep_beginning().await;
            match self.body.frame().await {
                None => self.is_over = true,
                Some(frame) => {
                    let frame = frame.map_err(bodies::broken)?;
                    self.rest = frame.into_data().unwrap_or_default();
                }
            }
        }
    }

    /// Adds all of `rest` to the current line.
    async fn keep_beginning(&mut self) {
        let piece = std::mem::take(&mut self.rest);
        self.reserve(piece.len()).await;
        match &mut self.beginning {
            Ok(beginning) => beginning.extend_from_slice(&piece),
            Err(refused) => refused.digest.update(&piece),
        }
    }

    /// Completes the line with its last piece; `None` if it is blank.
    async fn end_line(&mut self, piece: Bytes) -> Option<Line> {
        self.reserve(piece.len()).await;
        let number = self.number;
        self.number += 1;
        let memory = self.memory.take();
        let line = match std::mem::replace(&mut self.beginning, Ok(Vec::new())) {
            Ok(line) if line.is_empty() && piece.len() > COPIED_BYTES_MAX => piece,
            Ok(mut line) => {
                line.extend_from_slice(&piece);
                Bytes::from(line)
            }
            Err(Refused { why, mut digest }) => {
                digest.update(&piece);
                return Some(Line { number, sha256: digest.finish(), content: Err(why) });
            }
        };
        if line.trim_ascii().is_empty() {
            return None;
        }
        let sha256 = LineDigest::of(&line);
        let line = match line.strip_suffix(b"\r") {
            Some(text) => line.slice(..text.len()),
            None => line,
        };
        let content = match memory {
            None => line,
            Some(mut memory) => {
                memory.correct(line.len());
                shares::hold(line, Arc::new(memory))
            }
        };
        Some(Line { number, sha256, content: Ok(content) })
    }

    /// Makes room for more bytes of the line, or refuses it if it is too long or has no memory.
    async fn reserve(&mut self, more: usize) {
        let Ok(beginning) = &self.beginning else { return };
        let length = beginning.len() + more;
        if length > self.limit {
            self.refuse(Refusal::TooLarge(self.limit));
        } else if length > SHORT_BYTES && self.memory.is_none() {
            match self.buffers.take(self.limit).await {
                Ok(memory) => self.memory = memory,
                Err(error) => self.refuse(error.into()),
            }
        }
    }

    fn refuse(&mut self, why: Refusal) {
        let mut digest = LineDigest::default();
        digest.update(self.beginning.as_deref().unwrap_or_default());
        self.beginning = Err(Refused { why, digest });
        self.memory = None;
    }
}
