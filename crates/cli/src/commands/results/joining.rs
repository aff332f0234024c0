//! Writes a table again with the answers to its rows, which batches hold in another order.

use overnight_tables::{Column, Join};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::records::Records;
use super::unreadable;
use crate::errors::CliError;
use crate::output::Output;
use crate::progress::Progress;
use crate::prompts::Table;
use crate::spool::Spool;
use crate::tabling::Tabling;
use crate::target::Target;

/// The status of a row without a request, also in its `error`.
const UNASKED: &str = "no_request";
const NO_REQUEST: &str = "no_request: these batches have no request for the row";

#[derive(Deserialize)]
struct Record<'a> {
    #[serde(borrow)]
    id: std::borrow::Cow<'a, str>,
    #[serde(borrow)]
    status: std::borrow::Cow<'a, str>,
    created_at: u64,
    #[serde(borrow)]
    metadata: Option<&'a RawValue>,
}

/// Metadata that `submit` and `run` add to a request.
#[derive(Deserialize)]
struct Metadata {
    row: usize,
}

/// The state of a row's request. Among several requests of a row, a completed one counts, else the newest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    Live,
    Unanswered,
    Completed,
}

#[derive(Debug, Default)]
pub(super) struct Rows {
    pub(super) total: usize,
    pub(super) live: usize,
    /// The request failed or was cancelled.
    pub(super) unanswered: usize,
    pub(super) absent: usize,
}

pub(super) struct Joining<'a> {
    pub(super) table: &'a Table,
    pub(super) target: &'a Target,
    pub(super) columns: Vec<Column>,
    pub(super) tabling: Tabling,
}

impl Joining<'_> {
    /// Writes the table with the records' answers.
    pub(super) async fn write(self, mut records: Records<'_>, output: &Output) -> Result<Rows, CliError> {
        let nameless = || self.table.source.nameless().map_err(|error| unkept(&error));
        let mut spool = Spool::new(nameless()?, nameless()?);
        let mut progress = Progress::begin(output, "fetching", self.table.rows as u64, 0);
        let mut fetched = 0;
        while let Some(text) = records.next().await? {
            self.keep(&mut spool, &text)?;
            fetched += 1;
            progress.set(fetched, "");
        }
        drop(progress);
        self.join(spool)
    }

    fn keep(&self, spool: &mut Spool, text: &[u8]) -> Result<(), CliError> {
        let record: Record<'_> = serde_json::from_slice(text).map_err(|error| unreadable(&error))?;
        let metadata = record.metadata.map(|metadata| serde_json::from_str::<Metadata>(metadata.get()));
        let Some(Ok(Metadata { row })) = metadata else {
            let message = format!("{} has no `row` in its metadata: it is not of a table", record.id);
            return Err(CliError::unusable(message)
                .with_hint("--table takes batches that `submit` or `run` made with --prompt"));
        };
        if !(1..=self.table.rows).contains(&row) {
            let (name, rows) = (self.table.source.name(), self.table.rows);
            let message = format!("{} is of row {row}, and {name} has {rows} rows", record.id);
            return Err(CliError::unusable(message).with_hint("name the table that was submitted"));
        }
        let rank = Standing::of(&record.status).rank(record.created_at);
        let cells = self.tabling.cells(text).and_then(|cells| serde_json::to_vec(&cells));
        let cells = cells.map_err(|error| unreadable(&error))?;
        spool.put(row - 1, &cells, rank).map_err(|error| unkept(&error))
    }

    fn join(self, spool: Spool) -> Result<Rows, CliError> {
        let Self { table, target, columns, tabling } = self;
        let mut spooled = spool.read().map_err(|error| unkept(&error))?;
        let out = target.create().map_err(|error| target.failed(&error))?;
        let source = (&table.source.file, table.source.kind, &table.columns);
        let join = Join::begin(out, target.kind, target.formulas, Some(source), columns);
        let mut join = join.map_err(|error| target.unwritten(error))?;
        let mut rows = Rows { total: table.rows, ..Rows::default() };
        for row in 0..table.rows {
            let cells: Vec<Value> = match spooled.get(row).map_err(|error| unkept(&error))? {
                Some((cells, rank)) => {
                    match Standing::of_rank(rank) {
                        Standing::Live => rows.live += 1,
                        Standing::Unanswered => rows.unanswered += 1,
                        Standing::Completed => {}
                    }
                    serde_json::from_slice(cells).map_err(|error| unreadable(&error))?
                }
                None => {
                    rows.absent += 1;
                    tabling.unasked(UNASKED, NO_REQUEST.to_owned())
                }
            };
            join.push(cells).map_err(|error| target.unwritten(error))?;
        }
        let written = join.finish().map_err(|error| target.unwritten(error))?;
        written.commit().map_err(|error| target.failed(&error))?;
        Ok(rows)
    }
}

impl Standing {
    fn of(status: &str) -> Self {
        match status {
            "completed" => Self::Completed,
            "failed" | "cancelled" => Self::Unanswered,
            _ => Self::Live,
        }
    }

    /// The rank of a request with this creation time: the highest bit says that it completed, the lowest two are its state.
    fn rank(self, created_at: u64) -> u64 {
        u64::from(self == Self::Completed) << 63 | created_at << 2 & (u64::MAX >> 1) | self as u64
    }

    const fn of_rank(rank: u64) -> Self {
        match rank & 3 {
            0 => Self::Live,
            1 => Self::Unanswered,
            _ => Self::Completed,
        }
    }
}

fn unkept(error: &std::io::Error) -> CliError {
    CliError::unusable(format!("answers cannot be kept: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_several_requests_for_a_row_a_completed_one_counts_else_the_last() {
        let rank = |status: &str, created_at| Standing::of(status).rank(created_at);
        assert!(rank("completed", 1) > rank("failed", 2));
        assert!(rank("completed", 2) > rank("completed", 1));
        assert!(rank("registered", 2) > rank("cancelled", 1));
        assert!(rank("failed", 2) > rank("in_progress", 1));
        for status in ["registered", "failed", "completed"] {
            assert_eq!(Standing::of_rank(rank(status, 1_800_000_000)), Standing::of(status));
        }
    }
}
