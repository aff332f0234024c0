//! `overnight results`: requests with their answers, one per line, or a table with the answers to its rows.

mod joining;
mod records;
mod writing;

use std::path::{Path, PathBuf};

use clap::Args;
use overnight_domain::ids::RequestId;
use overnight_tables::{Format, Kind};
use serde::Deserialize;

use self::joining::{Joining, Rows};
use self::records::{Records, Wanted};
use self::writing::Writer;
use crate::connection::connect;
use crate::errors::{CliError, Exit};
use crate::fixed_values::kinds;
use crate::globals::Globals;
use crate::output::Output;
use crate::paths::path;
use crate::prompts::{Source, Table};
use crate::schema::AnswerSchema;
use crate::subjects::{Subject, Subjects};
use crate::tabling::{self, Tabling};
use crate::target::Target;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Requests (req_…) or batches (batch_…), read one after the other. @FILE reads their identifiers from a file, one a line, as
    /// `submit` prints them.
    #[arg(value_name = "ID", required = true, value_parser = Subjects::parse)]
    ids: Vec<Subjects>,
    /// The file to write, once all of it has arrived [default: standard output].
    #[arg(long, short, value_name = "FILE", value_parser = path())]
    output: Option<PathBuf>,
    /// What to write: full records as jsonl, or a table of answers in any other format [default: by the name of FILE, else jsonl].
    #[arg(long, value_name = "FORMAT", value_parser = kinds())]
    output_format: Option<Kind>,
    /// In CSV, put an apostrophe before text that begins with =, +, -, @, a tab or a line break, which spreadsheets would compute;
    /// numbers stay.
    #[arg(long)]
    escape_formulas: bool,
    /// Give each property of this JSON Schema, which answers were asked to follow, a column of the table.
    #[arg(long, value_name = "FILE", value_parser = path())]
    schema: Option<PathBuf>,
    /// Of a batch, writes each record as its request ends, until the batch has ended. With --table, waits for that.
    #[arg(long, short)]
    follow: bool,
    /// Of a batch, only requests that ended behind this one, in the order of their ends.
    #[arg(long, value_name = "REQUEST", value_parser = parse_request, conflicts_with = "table")]
    after: Option<String>,
    #[command(flatten)]
    tables: TableArguments,
}

/// The table that batches were made of.
#[derive(Debug, Args)]
#[command(next_help_heading = "Tables")]
struct TableArguments {
    /// Write this table, which `submit` made the batches of, again with the answers behind its columns; `-` is standard input.
    #[arg(long, value_name = "TABLE", value_parser = path())]
    table: Option<PathBuf>,
    /// What TABLE, or standard input, holds [default: by its name, else jsonl].
    #[arg(long, value_name = "FORMAT", requires = "table", value_parser = kinds())]
    input_format: Option<Kind>,
    /// Put this before the names of the columns that answers go to.
    #[arg(long, value_name = "PREFIX", requires = "table")]
    prefix: Option<String>,
}

fn parse_request(text: &str) -> Result<String, String> {
    let id = RequestId::parse(text).map(|_| text.to_owned());
    id.ok_or_else(|| "an identifier of a request is req_ and 26 characters".to_owned())
}

#[derive(Debug, Default)]
struct Counts {
    lines: usize,
    live: usize,
    unanswered: usize,
}

#[derive(Deserialize)]
struct State<'a> {
    #[serde(borrow)]
    status: std::borrow::Cow<'a, str>,
}

pub(crate) async fn run(arguments: Arguments, globals: &Globals, output: &Output) -> Result<Exit, CliError> {
    let target = Target::of(arguments.output.as_deref(), arguments.output_format)?;
    let target = target.escaping_formulas(arguments.escape_formulas)?;
    let is_table = arguments.tables.table.is_some() || target.kind.format != Format::JsonLines;
    if is_table && output.is_json {
        let message = format!("--json writes an array of records, and not {}", target.kind);
        return Err(CliError::unusable(message));
    }
    let schema = arguments.schema.as_deref().map(AnswerSchema::read).transpose()?;
    if schema.is_some() && !is_table {
        return Err(CliError::unusable(
            "--schema is for tables: name a file .csv or .parquet, or --output-format",
        ));
    }
    let files = arguments.ids.iter().filter_map(Subjects::file);
    files.chain(arguments.tables.table.as_deref()).try_for_each(|read| target.check(read))?;
    let subjects = Subjects::all(&arguments.ids)?;
    let table = match &arguments.tables.table {
        Some(path) => Some(open(path, &arguments.tables, &target, &subjects)?),
        None => None,
    };
    let client = connect(globals)?;
    let wanted = Wanted { follow: arguments.follow, after: arguments.after.as_deref() };
    let tabling = match is_table {
        true => Some(Tabling::new(&client, schema.as_ref(), table.is_none()).await?),
        false => None,
    };
    match (table, tabling) {
        (Some(table), Some(tabling)) => {
            let prefix = arguments.tables.prefix.as_deref().unwrap_or_default();
            let taken = |name: &str| table.columns.has(name);
            let columns = tabling::columns(prefix, schema.as_ref(), false, taken)?;
            let records = Records::open(&client, wanted, subjects).await?;
            let joining = Joining { table: &table, target: &target, columns, tabling };
            Ok(report(&joining.write(records, output).await?, output))
        }
        (_, tabling) => {
            let records = Records::open(&client, wanted, subjects).await?;
            let writer = match tabling {
                Some(tabling) => {
                    let columns = tabling::columns("", schema.as_ref(), true, |_| false)?;
                    Writer::table(&target, columns, tabling)?
                }
                None => Writer::lines(&target, output.is_json)?,
            };
            list(records, writer, wanted.follow, output).await
        }
    }
}

/// Opens the table to join, and reads it once.
fn open(
    path: &Path,
    arguments: &TableArguments,
    target: &Target,
    subjects: &[Subject],
) -> Result<Table, CliError> {
    if subjects.iter().any(|subject| matches!(subject, Subject::Request(_))) {
        return Err(CliError::unusable("--table is for batches, not for single requests"));
    }
    Table::check(Source::open(path, arguments.input_format, target.folder())?)
}

async fn list(
    mut records: Records<'_>,
    mut writer: Writer<'_>,
    is_followed: bool,
    output: &Output,
) -> Result<Exit, CliError> {
    let mut counts = Counts::default();
    while let Some(record) = records.next().await? {
        writer.put(&record)?;
        if is_followed {
            // The reader wants each record immediately.
            writer.flush()?;
        }
        counts.see(&record)?;
    }
    writer.commit()?;
    if counts.live > 0 {
        output.note(&format!("{} of {} have not ended yet and have no result", counts.live, counts.lines));
    }
    Ok(if counts.unanswered > 0 { Exit::Failed } else { Exit::Done })
}

fn report(rows: &Rows, output: &Output) -> Exit {
    let Rows { total, live, unanswered, absent } = *rows;
    if live > 0 {
        output.note(&format!("the requests of {live} of {total} rows have not ended yet and have no result"));
    }
    if absent > 0 {
        output.note(&format!("{absent} of {total} rows have no request in these batches"));
    }
    if unanswered > 0 {
        output
            .note(&format!("{unanswered} of {total} rows failed or were cancelled; their `error` says why"));
    }
    if unanswered + absent > 0 { Exit::Failed } else { Exit::Done }
}

impl Counts {
    fn see(&mut self, record: &[u8]) -> Result<(), CliError> {
        self.lines += 1;
        let State { status } = serde_json::from_slice(record).map_err(|error| unreadable(&error))?;
        match status.as_ref() {
            "completed" => {}
            "failed" | "cancelled" => self.unanswered += 1,
            _ => self.live += 1,
        }
        Ok(())
    }
}

fn unreadable(error: &serde_json::Error) -> CliError {
    CliError::unavailable(format!("a record cannot be read: {error}"))
}
