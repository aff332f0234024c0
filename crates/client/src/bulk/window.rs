//! The bodies that were read and have no answer yet.

use std::collections::VecDeque;

use bytes::{BufMut, Bytes, BytesMut};

/// How many bodies may wait for their answers.
const LINES_MAX: usize = 1_024;
/// How long they are together at most, unless one alone is longer.
const BYTES_MAX: usize = 1 << 20;
/// What is sent at once, unless a line alone is longer.
const CHUNK_BYTES: usize = 16 << 10;

/// Bodies in their order, with their numbers.
#[derive(Default)]
pub(super) struct Window {
    lines: VecDeque<(u64, Bytes)>,
    bytes: usize,
    /// The number of the last body that was read.
    read: u64,
    /// How many of `lines` went over this connection.
    sent: usize,
    /// How long the others are, with their line breaks.
    unsent_bytes: usize,
    /// The number of the line that went last over this connection, 0 before the first.
    at: u64,
}

impl Window {
    /// Adds the next body. What is blank has a number alone.
    pub(super) fn push(&mut self, body: Bytes) {
        self.read += 1;
        if !body.trim_ascii().is_empty() {
            self.bytes += body.len();
            self.unsent_bytes += body.len() + 1;
            self.lines.push_back((self.read, on_one_line(body)));
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Whether nothing more is read before something is answered.
    pub(super) fn is_full(&self) -> bool {
        self.lines.len() >= LINES_MAX || self.bytes >= BYTES_MAX
    }

    /// Whether another body is to be read before anything is sent or answered.
    pub(super) fn has_room(&self) -> bool {
        !self.is_full() && self.unsent_bytes < CHUNK_BYTES
    }

    /// Whether something went over this connection and is not answered.
    pub(super) const fn is_under_way(&self) -> bool {
        self.sent > 0
    }

    /// Whether all of them went over this connection.
    pub(super) fn is_sent(&self) -> bool {
        self.sent == self.lines.len()
    }

    /// Begins another connection: all are to be sent again.
    pub(super) fn rewind(&mut self) {
        (self.sent, self.at) = (0, 0);
        self.unsent_bytes = self.bytes + self.lines.len();
    }

    /// The next lines as they are sent; blank ones stand for what is not to be sent, so that each has its number.
    pub(super) fn take_chunk(&mut self) -> Bytes {
        let mut chunk = BytesMut::new();
        while let Some((number, body)) = self.lines.get(self.sent)
            && chunk.len() < CHUNK_BYTES
        {
            let blank = usize::try_from(number - 1 - self.at).unwrap_or(usize::MAX).min(CHUNK_BYTES);
            chunk.put_bytes(b'\n', blank);
            self.at += blank as u64;
            if self.at + 1 == *number {
                chunk.extend_from_slice(body);
                chunk.put_u8(b'\n');
                (self.at, self.sent) = (*number, self.sent + 1);
                self.unsent_bytes -= body.len() + 1;
            }
        }
        chunk.freeze()
    }

    /// Takes out the first, which is answered, and names its number; `None` where nothing was sent.
    pub(super) fn answered(&mut self) -> Option<u64> {
        self.sent = self.sent.checked_sub(1)?;
        let (number, body) = self.lines.pop_front()?;
        self.bytes -= body.len();
        Some(number)
    }
}

/// The same JSON without line breaks, which would part it: they are white space between its tokens, or not allowed, and so is a tab.
fn on_one_line(body: Bytes) -> Bytes {
    let is_break = |byte: &u8| matches!(byte, b'\n' | b'\r');
    if !body.iter().any(is_break) {
        return body;
    }
    body.iter().map(|byte| if is_break(byte) { b'\t' } else { *byte }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_keeps_its_number_on_every_connection() {
        let mut window = Window::default();
        for body in ["a", "", " ", "{\n\"d\":\r\n1}"] {
            window.push(body.into());
        }
        assert_eq!(window.take_chunk(), "a\n\n\n{\t\"d\":\t\t1}\n");
        assert!(window.is_sent());
        assert_eq!(window.answered(), Some(1));
        window.rewind();
        assert_eq!(window.take_chunk(), "\n\n\n{\t\"d\":\t\t1}\n");
        assert_eq!((window.answered(), window.answered(), window.is_empty()), (Some(4), None, true));
    }

    #[test]
    fn many_lines_that_are_left_out_go_in_parts() {
        let mut window = Window::default();
        for _ in 0..CHUNK_BYTES + 3 {
            window.push("".into());
        }
        window.push("x".into());
        assert_eq!(window.take_chunk().len(), CHUNK_BYTES);
        assert!(!window.is_sent());
        assert_eq!(window.take_chunk(), "\n\n\nx\n");
    }

    #[test]
    fn memory_is_bounded_by_lines_and_by_bytes() {
        for (body, lines) in [("x".to_owned(), LINES_MAX), ("x".repeat(CHUNK_BYTES), BYTES_MAX / CHUNK_BYTES)]
        {
            let mut window = Window::default();
            let mut count = 0;
            while window.has_room() {
                window.push(body.clone().into());
                window.take_chunk();
                count += 1;
            }
            assert_eq!(count, lines);
            window.answered();
            assert!(window.has_room());
        }
    }
}
