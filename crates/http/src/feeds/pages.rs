//! A page of ends in either format, rendered once for all followers.

use std::io::Write as _;
use std::sync::{Arc, OnceLock};

use axum::body::Bytes;
use overnight_app::batches::EndedPage;
use overnight_domain::ids::RequestId;
use overnight_domain::records::RequestRecord;
use overnight_wire::native::requests::write_full;

use crate::shares::{self, MemoryPermit};

/// The memory of a line in addition to its text.
const LINE_BYTES: usize = 128;

/// The format of ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// A JSON object on each line.
    Lines,
    /// Server-sent events, each with the identifier of its request.
    Events,
}

/// Some ended requests, in the order of their ends, with their memory.
pub(crate) struct Page {
    first: i64,
    next: i64,
    lines: Vec<Line>,
    text: Bytes,
    /// The page as events, rendered for the first follower that needs them, and the end of each event.
    events: OnceLock<(Bytes, Vec<usize>)>,
    memory: Arc<MemoryPermit>,
}

struct Line {
    place: i64,
    id: RequestId,
    /// The end of its text.
    end: usize,
}

/// Appends a request as an event without the final empty line.
pub(crate) fn write_event(request: &RequestRecord, out: &mut Vec<u8>) {
    begin_event(request.summary.id, out);
    write_full(request, out);
    out.push(b'\n');
}

fn begin_event(id: RequestId, out: &mut Vec<u8>) {
    // Memory takes everything.
    let _ = write!(out, "id: {id}\ndata: ");
}

impl Page {
    /// The page after position `first`. Its memory is corrected to its real size.
    pub(crate) fn new(first: i64, page: &EndedPage, mut memory: MemoryPermit) -> Self {
        let (mut text, mut lines) = (Vec::new(), Vec::with_capacity(page.rows.len()));
        for (place, request) in &page.rows {
            write_full(request, &mut text);
            text.push(b'\n');
            lines.push(Line { place: *place, id: request.summary.id, end: text.len() });
        }
        // Both formats.
        memory.correct(2 * text.len() + lines.len() * LINE_BYTES);
        let memory = Arc::new(memory);
        let text = shares::hold(text.into(), Arc::clone(&memory));
        Self { first, next: page.next, lines, text, events: OnceLock::new(), memory }
    }

    /// The position before its first request.
    pub(super) const fn first(&self) -> i64 {
        self.first
    }

    /// The position of its last request, even if that was deleted.
    pub(crate) const fn next(&self) -> i64 {
        self.next
    }

    /// Whether it holds the requests after `place`.
    pub(super) const fn holds(&self, place: i64) -> bool {
        self.first <= place && place < self.next
    }

    pub(super) fn bytes(&self) -> usize {
        self.text.len()
    }

    /// Its requests after `place`.
    pub(crate) fn behind(&self, place: i64, format: Format) -> Bytes {
        let passed = self.lines.partition_point(|line| line.place <= place);
        let Some(last) = passed.checked_sub(1) else { return self.whole(format).clone() };
        match format {
            Format::Lines => self.text.slice(self.lines.get(last).map_or(0, |line| line.end)..),
            Format::Events => {
                let (events, ends) = self.events();
                events.slice(ends.get(last).copied().unwrap_or(0)..)
            }
        }
    }

    fn whole(&self, format: Format) -> &Bytes {
        match format {
            Format::Lines => &self.text,
            Format::Events => &self.events().0,
        }
    }

    fn events(&self) -> &(Bytes, Vec<usize>) {
        self.events.get_or_init(|| {
            let mut events = Vec::with_capacity(self.text.len() + self.lines.len() * LINE_BYTES);
            let (mut ends, mut start) = (Vec::with_capacity(self.lines.len()), 0);
            for line in &self.lines {
                begin_event(line.id, &mut events);
                events.extend_from_slice(self.text.get(start..line.end).unwrap_or_default());
                events.push(b'\n');
                ends.push(events.len());
                start = line.end;
            }
            (shares::hold(events.into(), Arc::clone(&self.memory)), ends)
        })
    }
}
