//! From the file into an empty store.

use std::io::BufRead;

use futures_util::future::BoxFuture;

use crate::database::Value;
use crate::database::migrations;
use crate::operations::transfer::counts::Counts;
use crate::operations::transfer::errors::ImportError;
use crate::operations::transfer::format::{FORMAT, Header, Line, VERSION, read_line};
use crate::operations::transfer::lines::Lines;
use crate::operations::transfer::tables::Table;
use crate::operations::transfer::target::Target;
use crate::operations::transfer::{BYTES_MAX, ROWS_MAX};
use crate::{StoreError, StoreOptions};

/// Fills the store of `options`, which must be empty and unserved, from the output of [`crate::operations::transfer::export()`], and checks
/// the rules; returns numbers of rows. All rows are stored, or none. If `options` names an operator, the import is noted in the audit log
/// at `now`, in milliseconds.
pub fn import<'a>(
    options: &'a StoreOptions,
    input: &'a mut (dyn BufRead + Send),
    now: i64,
) -> BoxFuture<'a, Result<Counts, ImportError>> {
    // Boxed, so that it is compiled once here, not in each program.
    Box::pin(async move {
        let mut lines = Lines::new(input);
        read_header(&mut lines)?;
        let mut target = Target::open(options).await?;
        let outcome = fill(&mut target, lines, now).await;
        // Uncommitted work is undone, and committed work needs no more.
        let _ = target.close().await;
        outcome
    })
}

fn read_header(lines: &mut Lines<'_>) -> Result<(), ImportError> {
    const FOREIGN: &str = "the file was not written by `overnight export`";
    const OTHER: &str = "the file was written by another release; export and import with the same release";
    let line = match lines.next() {
        Err(ImportError::Cut { .. }) => return Err(lines.fault(FOREIGN)),
        line => line?,
    };
    let fault = match serde_json::from_slice::<Header<'_>>(line) {
        Ok(Header { format, version, schema }) => match (&*format, version, schema) {
            (FORMAT, VERSION, migrations::EXPORTED_MIN..=migrations::NEWEST) => return Ok(()),
            (FORMAT, VERSION, found) => {
                return Err(ImportError::OtherSchema { found, known: migrations::NEWEST });
            }
            (FORMAT, ..) => OTHER,
            _ => FOREIGN,
        },
        Err(_) => FOREIGN,
    };
    Err(lines.fault(fault))
}

async fn fill(target: &mut Target, mut lines: Lines<'_>, now: i64) -> Result<Counts, ImportError> {
    target.begin().await?;
    let mut rows = Rows { target, counts: Counts::none(), table: None, pending: Vec::new(), bytes: 0 };
    let trailer = loop {
        let line = lines.next()?;
        let bytes = line.len();
        let line = read_line(line, rows.target.dialect()).map_err(|what| lines.fault(&what));
        let outcome = match line? {
            Line::Row(table, row) => rows.take(table, row, bytes).await,
            Line::End(trailer) => {
                rows.flush().await.map_err(|error| lines.blame(error))?;
                break trailer;
            }
        };
        outcome.map_err(|error| lines.blame(error))?;
    };
    let Rows { counts, target, .. } = rows;
    if lines.finish()? != trailer.sha256 {
        return Err(ImportError::Changed { what: "SHA-256" });
    }
    if counts != trailer.rows {
        return Err(ImportError::Changed { what: "number of rows" });
    }
    target.commit(counts.total(), now).await?;
    Ok(counts)
}

/// Of one table, to be written together.
struct Rows<'t> {
    target: &'t mut Target,
    counts: Counts,
    table: Option<&'static Table>,
    pending: Vec<Vec<Value>>,
    bytes: usize,
}

impl Rows<'_> {
    async fn take(&mut self, table: &'static Table, row: Vec<Value>, bytes: usize) -> Result<(), StoreError> {
        let is_same = self.table.is_some_and(|pending| std::ptr::eq(pending, table));
        if !is_same || self.pending.len() == ROWS_MAX || self.bytes + bytes > BYTES_MAX {
            self.flush().await?;
        }
        self.table = Some(table);
        self.bytes += bytes;
        self.pending.push(row);
        Ok(())
    }

    async fn flush(&mut self) -> Result<(), StoreError> {
        self.bytes = 0;
        let rows = std::mem::take(&mut self.pending);
        let Some(table) = self.table.take() else { return Ok(()) };
        self.counts.add(table.name, rows.len());
        self.target.insert(table, rows).await
    }
}
