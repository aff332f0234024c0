//! The lines of a text, a page at a time.

use bytes::Bytes;
use overnight_domain::endpoints::Endpoint;
use overnight_domain::faults::codes;
use overnight_wire::prompts::Shape;

use super::drafts::{Draft, DraftSource};
use crate::Services;
use crate::errors::AppError;
use crate::pages::Pages;

/// The longest accepted text, in bytes.
pub const TEXT_BYTES_MAX: usize = 32 << 20;

/// Lines per page: as many as a group of writes holds.
const PAGE_LINES: usize = 256;

/// A page ends after this many bytes, which are read in a few milliseconds.
const PAGE_BYTES: usize = 256 << 10;

/// The beginning of some programs' texts.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The lines of a text. White space at its end is not a line.
#[derive(Clone)]
pub(super) struct Lines {
    rest: Bytes,
    number: usize,
}

impl Lines {
    /// Fails with [`AppError::Invalid`] if the text is too long, or has no line or too many.
    pub(super) fn of(services: &Services, text: &Bytes) -> Result<Self, AppError> {
        let refuse = |message: &str| Err(AppError::invalid("prompts", codes::OUT_OF_RANGE, message));
        if text.len() > TEXT_BYTES_MAX {
            return refuse(&format!("must be at most {} MiB", TEXT_BYTES_MAX >> 20));
        }
        let start = if text.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
        let rest = text.slice(start..text.trim_ascii_end().len().max(start));
        if rest.is_empty() {
            return refuse("must hold at least one line");
        }
        let lines_max = services.config().limits.batch_requests;
        if rest.split(|byte| *byte == b'\n').nth(lines_max).is_some() {
            return refuse(&format!("must hold at most {lines_max} lines"));
        }
        Ok(Self { rest, number: 0 })
    }

    fn next_line(&mut self) -> Option<Bytes> {
        if self.rest.is_empty() {
            return None;
        }
        let end = self.rest.iter().position(|byte| *byte == b'\n');
        let line = self.rest.split_to(end.map_or(self.rest.len(), |end| end + 1));
        self.number += 1;
        Some(line)
    }
}

impl Pages for Lines {
    type Row = Draft;

    async fn next_page(&mut self) -> Result<Option<Vec<Draft>>, AppError> {
        // Lets other tasks run between pages.
        tokio::task::yield_now().await;
        let (mut drafts, mut bytes) = (Vec::new(), 0);
        while drafts.len() < PAGE_LINES
            && bytes < PAGE_BYTES
            && let Some(line) = self.next_line()
        {
            bytes += line.len();
            let text = line.trim_ascii();
            let body = Shape::of(text).and_then(|shape| shape.create_body(text));
            let body = body.map_err(|fault| format!("the line {fault}"));
            drafts.push(Draft {
                source: DraftSource::Line(self.number),
                endpoint: Endpoint::ChatCompletions,
                body,
            });
        }
        Ok(Some(drafts).filter(|drafts| !drafts.is_empty()))
    }
}
