//! A page of requests in one value: SQLite joins its lines, so that one row goes from its thread to ours, and not one
//! for each request. A line is a head of fields, each with a comma behind, then what it tells the lengths of.

use overnight_domain::ids::{BatchId, RequestId};
use overnight_domain::records::{RequestRecord, RequestSummary};

use crate::store::database::Row;
use crate::store::{StoreError, row};

/// The fields of a status record, of `requests r`, `progress p` and `queue q`, the row number first.
macro_rules! summary_fields {
    () => {
        concat!(
            "p.seq, hex(r.id), ",
            row::state!(),
            ", p.ready_at, coalesce(",
            row::in_progress_at!(),
            ", ''), coalesce(p.ended_at, ''), r.created_at, r.expires_at"
        )
    };
}

/// The fields that a whole record has behind those, also of `batches b` and `results s`: the batch and four lengths.
macro_rules! detail_fields {
    () => {
        "hex(b.id), coalesce(octet_length(r.metadata), ''), coalesce(octet_length(r.webhook), ''), \
         octet_length(r.body), coalesce(octet_length(s.body), '')"
    };
}

/// The most bytes of bodies that are read together with others, for each request.
macro_rules! small_bytes {
    () => {
        16384
    };
}

/// A line of a status record.
macro_rules! summary_line {
    () => {
        concat!("concat_ws(',', ", summary_fields!(), ", '')")
    };
}
pub(super) use summary_line;

/// The head of a line of a whole record.
macro_rules! record_head {
    () => {
        concat!("concat_ws(',', ", summary_fields!(), ", ", detail_fields!(), ", '')")
    };
}

/// A line of a whole record; of one that is not small, its head alone.
macro_rules! record_line {
    () => {
        concat!(
            "CASE WHEN coalesce(octet_length(r.metadata), 0) + octet_length(r.body) + \
                       coalesce(octet_length(s.body), 0) <= ",
            small_bytes!(),
            " THEN concat(",
            record_head!(),
            ", r.metadata, r.webhook, r.body, s.body) ELSE ",
            record_head!(),
            " END"
        )
    };
}
pub(super) use record_line;
pub(super) use {detail_fields, record_head, small_bytes, summary_fields};

pub(super) const SMALL_BYTES: usize = small_bytes!();

/// A line of whole records.
pub(super) enum RecordLine {
    /// All of it.
    Whole(RequestRecord),
    /// It is too large to be read with others; how many bytes its bodies have.
    Large(usize),
}

/// The status records of a page and their row numbers.
pub(super) fn summaries(page: &[Row]) -> Result<Vec<(i64, RequestSummary)>, StoreError> {
    let mut lines = Lines::of(page)?;
    let mut found = Vec::new();
    while !lines.rest.is_empty() {
        found.push(lines.summary()?);
    }
    Ok(found)
}

/// The whole records of a page and their row numbers.
pub(super) fn records(page: &[Row]) -> Result<Vec<(i64, RecordLine)>, StoreError> {
    let mut lines = Lines::of(page)?;
    let mut found = Vec::new();
    while !lines.rest.is_empty() {
        found.push(lines.record()?);
    }
    Ok(found)
}

/// Reads the lines of a page one after the other.
struct Lines<'a> {
    rest: &'a [u8],
}

const fn damaged() -> StoreError {
    StoreError::Damaged("a line of a list")
}

impl<'a> Lines<'a> {
    fn of(page: &'a [Row]) -> Result<Self, StoreError> {
        let text = page.first().map(|row| row.get::<Option<&[u8]>>(0)).transpose()?.flatten();
        Ok(Self { rest: text.unwrap_or_default() })
    }

    fn record(&mut self) -> Result<(i64, RecordLine), StoreError> {
        let (seq, summary) = self.summary()?;
        let batch_id = self.field()?;
        let batch_id =
            (!batch_id.is_empty()).then(|| read_id(batch_id).map(BatchId::from_bits)).transpose()?;
        let [metadata, webhook, body, result] =
            [self.length()?, self.length()?, self.length()?, self.length()?];
        let bytes: usize = [metadata, body, result].into_iter().flatten().sum();
        if bytes > SMALL_BYTES {
            return Ok((seq, RecordLine::Large(bytes)));
        }
        let metadata = self.bytes(metadata)?;
        let webhook = self.bytes(webhook)?.map(String::from_utf8).transpose().map_err(|_| damaged())?;
        let body = self.bytes(body)?.ok_or_else(damaged)?;
        let result = self.bytes(result)?;
        Ok((seq, RecordLine::Whole(RequestRecord { summary, batch_id, metadata, body, webhook, result })))
    }

    fn summary(&mut self) -> Result<(i64, RequestSummary), StoreError> {
        let seq = self.number()?;
        let id = RequestId::from_bits(read_id(self.field()?)?);
        let (state, ready_at) = (self.number()?, self.number()?);
        let (in_progress_at, ended_at) = (self.optional_number()?, self.optional_number()?);
        let state = row::state_of(state, ready_at, in_progress_at, ended_at)?;
        let (created_at, expires_at) = (self.number()?, self.number()?);
        Ok((seq, RequestSummary { id, state, created_at, expires_at }))
    }

    /// The text up to the next separator.
    fn field(&mut self) -> Result<&'a [u8], StoreError> {
        let end = self.rest.iter().position(|byte| *byte == b',').ok_or_else(damaged)?;
        let (field, rest) = self.rest.split_at(end);
        self.rest = &rest[1..];
        Ok(field)
    }

    fn number(&mut self) -> Result<i64, StoreError> {
        self.optional_number()?.ok_or_else(damaged)
    }

    fn optional_number(&mut self) -> Result<Option<i64>, StoreError> {
        let field = self.field()?;
        if field.is_empty() {
            return Ok(None);
        }
        let number = std::str::from_utf8(field).ok().and_then(|digits| digits.parse().ok());
        number.map(Some).ok_or_else(damaged)
    }

    fn length(&mut self) -> Result<Option<usize>, StoreError> {
        let length = self.optional_number()?;
        length.map(|length| usize::try_from(length).map_err(|_| damaged())).transpose()
    }

    fn bytes(&mut self, length: Option<usize>) -> Result<Option<Vec<u8>>, StoreError> {
        let Some(length) = length else { return Ok(None) };
        let (bytes, rest) = self.rest.split_at_checked(length).ok_or_else(damaged)?;
        self.rest = rest;
        Ok(Some(bytes.to_vec()))
    }
}

fn read_id(field: &[u8]) -> Result<u128, StoreError> {
    let digits = std::str::from_utf8(field).map_err(|_| damaged())?;
    u128::from_str_radix(digits, 16).map_err(|_| damaged())
}
