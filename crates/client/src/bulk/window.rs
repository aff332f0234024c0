//! Bodies that were read and have no answer yet.

use std::collections::VecDeque;

use bytes::Bytes;
use overnight_wire::native::bulk::LineDigest;

/// The number of lines that share an idempotency key. A call repeats earlier ones as blank lines, so they are few.
const SEGMENT_LINES: u64 = 1_024;
/// Maximum length of a call's lines, except for a single longer line: the service reads this much before it answers.
const BYTES_MAX: usize = (1 << 20) - BLANKS_MAX;
/// Maximum length of blank lines in a call: fewer than the lines of a segment.
const BLANKS_MAX: usize = 1_024;

/// Bodies of one segment, in order.
#[derive(Default)]
pub(super) struct Window {
    lines: VecDeque<Line>,
    /// Their length with line breaks.
    bytes: usize,
    /// The position of the last body read, from 1.
    read: u64,
    /// The first body of the next window.
    next: Option<Bytes>,
}

struct Line {
    place: u64,
    body: Bytes,
    sha256: String,
}

impl Window {
    pub(super) fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Whether another body may be read before this window is sent.
    pub(super) fn has_room(&self) -> bool {
        let is_same = |first: &Line| segment(first.place) == segment(self.read + 1);
        self.next.is_none() && self.lines.front().is_none_or(is_same)
    }

    /// Begins a window with the body that did not fit into the last one.
    pub(super) fn begin(&mut self) {
        if let Some(body) = self.next.take() {
            self.add(body);
        }
    }

    /// Takes the next body. A blank one only occupies a position.
    pub(super) fn push(&mut self, body: Bytes) {
        self.read += 1;
        if body.trim_ascii().is_empty() {
            return;
        }
        let body = on_one_line(body);
        if !self.is_empty() && self.bytes + body.len() >= BYTES_MAX {
            self.next = Some(body);
        } else {
            self.add(body);
        }
    }

    fn add(&mut self, body: Bytes) {
        self.bytes += body.len() + 1;
        self.lines.push_back(Line { place: self.read, sha256: LineDigest::of(&body), body });
    }

    pub(super) fn segment(&self) -> u64 {
        self.lines.front().map_or(0, |first| segment(first.place))
    }

    /// The lines to send, each at its position in the segment; blank lines replace those not sent.
    pub(super) fn content(&self) -> Bytes {
        let mut content = Vec::with_capacity(self.bytes + BLANKS_MAX);
        let mut at = self.segment() * SEGMENT_LINES;
        for line in &self.lines {
            content.extend((at + 1..line.place).map(|_| b'\n'));
            content.extend_from_slice(&line.body);
            content.push(b'\n');
            at = line.place;
        }
        content.into()
    }

    /// Removes the first line with this digest and returns its position.
    pub(super) fn answered(&mut self, sha256: &str) -> Option<u64> {
        let index = self.lines.iter().position(|line| line.sha256 == sha256)?;
        let line = self.lines.remove(index)?;
        self.bytes -= line.body.len() + 1;
        Some(line.place)
    }
}

const fn segment(place: u64) -> u64 {
    (place - 1) / SEGMENT_LINES
}

/// The same JSON without line breaks and tabs. Valid JSON has them only as white space between tokens.
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

    fn window(bodies: &[&'static str]) -> Window {
        let mut window = Window::default();
        bodies.iter().for_each(|body| window.push(Bytes::from_static(body.as_bytes())));
        window
    }

    #[test]
    fn each_line_keeps_its_place_when_it_is_sent_again() {
        let mut window = window(&["a", "", " ", "{\n\"d\":\r\n1}", "a"]);
        assert_eq!(window.content(), "a\n\n\n{\t\"d\":\t\t1}\na\n");
        assert_eq!(window.answered(&LineDigest::of(b"{\t\"d\":\t\t1}")), Some(4));
        assert_eq!(window.answered(&LineDigest::of(b"a")), Some(1));
        assert_eq!(window.answered(&LineDigest::of(b"b")), None);
        assert_eq!(window.content(), "\n\n\n\na\n");
        assert_eq!(window.answered(&LineDigest::of(b"a")), Some(5));
        assert!(window.is_empty());
    }

    #[test]
    fn a_segment_ends_a_window() {
        let mut window = Window::default();
        for _ in 0..2_000 {
            if !window.has_room() {
                break;
            }
            window.push("x".into());
        }
        assert_eq!((window.read, window.segment()), (1_024, 0));
        for _ in 0..1_024 {
            window.answered(&LineDigest::of(b"x"));
        }
        window.push("y".into());
        assert_eq!((window.segment(), window.content().as_ref()), (1, &b"y\n"[..]));
    }

    #[test]
    fn memory_is_bounded_and_a_long_line_goes_alone() {
        for (body, lines) in [("x".repeat(100_000), 10), ("x".repeat(2 << 20), 1)] {
            let mut window = Window::default();
            while window.has_room() {
                window.push(body.clone().into());
            }
            assert_eq!(window.lines.len(), lines);
            for _ in 0..lines {
                window.answered(&LineDigest::of(body.as_bytes()));
            }
            window.begin();
            assert_eq!((window.lines.len(), window.lines[0].place), (1, lines as u64 + 1));
            assert!(window.has_room());
        }
    }
}
