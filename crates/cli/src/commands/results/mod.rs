//! `overnight results`: what was asked and what was answered, one line for each request.

mod writing;

use std::path::PathBuf;

use clap::Args;
use overnight_client::{Client, Following, RawLines};
use overnight_domain::ids::RequestId;
use overnight_tables::{Format, Kind};
use serde::Deserialize;

use self::writing::Writer;
use crate::connection::connect;
use crate::errors::{CliError, Exit};
use crate::globals::Globals;
use crate::output::Output;
use crate::schema::AnswerSchema;
use crate::subjects::Subject;
use crate::tabling::{self, Tabling};
use crate::target::Target;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// A request (req_…) or a batch (batch_…).
    #[arg(value_parser = Subject::parse)]
    id: Subject,
    /// The file to write, once all of it has arrived [default: standard output].
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// What to write: full records as jsonl, or a table of answers as csv or parquet; .gz or .zst behind jsonl and csv compresses
    /// it [default: by the name of FILE, else jsonl].
    #[arg(long, value_name = "FORMAT")]
    output_format: Option<Kind>,
    /// Give each property of this JSON Schema, which answers were asked to follow, a column of the table.
    #[arg(long, value_name = "FILE")]
    schema: Option<PathBuf>,
    /// Of a batch, writes each record as its request ends, until the batch has ended.
    #[arg(long, short)]
    follow: bool,
    /// Of a batch, only requests that ended behind this one, in the order of their ends.
    #[arg(long, value_name = "REQUEST", value_parser = parse_request)]
    after: Option<String>,
}

fn parse_request(text: &str) -> Result<String, String> {
    let id = RequestId::parse(text).map(|_| text.to_owned());
    id.ok_or_else(|| "an identifier of a request is req_ and 26 characters".to_owned())
}

/// What is counted on the way.
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
    let is_table = target.kind.format != Format::JsonLines;
    if is_table && output.is_json {
        return Err(CliError::unusable(format!(
            "--json writes an array of records, and not {}",
            target.kind
        )));
    }
    let schema = arguments.schema.as_deref().map(AnswerSchema::read).transpose()?;
    if schema.is_some() && !is_table {
        return Err(CliError::unusable(
            "--schema is for tables: name a file .csv or .parquet, or --output-format",
        ));
    }
    let client = connect(globals)?;
    let tabling = match is_table {
        true => Some(Tabling::new(&client, schema.as_ref(), true).await?),
        false => None,
    };
    let mut records = Records::open(&client, &arguments).await?;
    let mut writer = match tabling {
        Some(tabling) => {
            let columns = tabling::columns("", schema.as_ref(), true, |_| false)?;
            Writer::table(&target, columns, tabling)?
        }
        None => Writer::lines(&target, output.is_json)?,
    };
    let mut counts = Counts::default();
    while let Some(record) = records.next().await? {
        writer.put(&record)?;
        if arguments.follow {
            // It is read as it comes.
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

/// The full records of a request or of a batch, as the service wrote them.
enum Records {
    One(Option<Vec<u8>>),
    Many(RawLines),
    Followed(Following),
}

impl Records {
    async fn open(client: &Client, arguments: &Arguments) -> Result<Self, CliError> {
        let Arguments { id, follow, after, .. } = arguments;
        match id {
            Subject::Request(_) if *follow || after.is_some() => Err(CliError::unusable(
                "--follow and --after are for batches: `overnight watch` waits for a request",
            )),
            Subject::Batch(id) if *follow => {
                Ok(Self::Followed(client.follow_batch_results(id, after.as_deref())))
            }
            Subject::Batch(id) => {
                let lines = match after {
                    Some(after) => client.get_batch_results_after(id, after).await?,
                    None => client.get_batch_results(id).await?,
                };
                Ok(Self::Many(lines.into_raw()))
            }
            Subject::Request(id) => {
                let record =
                    serde_json::to_vec(&client.get_request(id).await?).map_err(|error| unreadable(&error))?;
                Ok(Self::One(Some(record)))
            }
        }
    }

    async fn next(&mut self) -> Result<Option<Vec<u8>>, CliError> {
        match self {
            Self::One(record) => Ok(record.take()),
            Self::Many(lines) => Ok(lines.next().await.transpose()?.map(Into::into)),
            Self::Followed(following) => {
                let next = following.next_raw().await.transpose().map_err(CliError::from);
                let last = following.after();
                let resumed = |error: CliError| match last {
                    Some(id) => error
                        .with_hint(format!("`--after {id}` goes on behind the last record that was read")),
                    None => error,
                };
                Ok(next.map_err(resumed)?.map(Into::into))
            }
        }
    }
}
