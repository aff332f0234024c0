//! A text of lines, some at a time.

use bytes::Bytes;
use overnight_domain::endpoints::Endpoint;
use overnight_domain::faults::codes;
use overnight_wire::prompts::Shape;

use super::drafts::{Draft, DraftSource};
use crate::app::Services;
use crate::app::errors::AppError;
use crate::app::pages::Pages;

/// The longest text that is taken, in bytes.
pub const TEXT_BYTES_MAX: usize = 32 << 20;

/// Lines that are dealt with together: a group of writes holds as many.
const PAGE_LINES: usize = 256;

/// Bytes of lines behind which no more are dealt with together: they are read in a few milliseconds.
const PAGE_BYTES: usize = 256 << 10;

/// What some programs begin a text with.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The lines of a text. White space at its end is no line.
#[derive(Clone)]
pub(super) struct Lines {
    rest: Bytes,
    number: usize,
}

impl Lines {
    /// # Errors
    ///
    /// [`AppError::Invalid`] for a text that is too long, holds no line or too many.
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
        // Between two pages others have their turn.
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
