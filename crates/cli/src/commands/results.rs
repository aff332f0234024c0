//! `overnight results`: what was asked and what was answered, one line for each request.

use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use clap::Args;
use overnight_client::{Client, Following, RawLines};
use overnight_domain::ids::RequestId;
use serde::Deserialize;

use crate::connection::connect;
use crate::errors::{CliError, Exit};
use crate::files::AtomicFile;
use crate::globals::Globals;
use crate::output::Output;
use crate::subjects::Subject;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// A request (req_…) or a batch (batch_…).
    #[arg(value_parser = Subject::parse)]
    id: Subject,
    /// The file to write, once all of it has arrived [default: standard output].
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
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
    let client = connect(globals)?;
    let counts = match &arguments.output {
        Some(path) => {
            let failed = |error| CliError::file(path, &error);
            let mut file = AtomicFile::create(path).map_err(failed)?;
            let counts = copy(&client, &arguments, output.is_json, &mut file, &failed).await?;
            file.commit().map_err(failed)?;
            counts
        }
        None => {
            let mut out = BufWriter::new(io::stdout());
            let failed = |error| CliError::stdout(&error);
            let counts = copy(&client, &arguments, output.is_json, &mut out, &failed).await?;
            out.flush().map_err(failed)?;
            counts
        }
    };
    if counts.live > 0 {
        output.note(&format!("{} of {} have not ended yet and have no result", counts.live, counts.lines));
    }
    Ok(if counts.unanswered > 0 { Exit::Failed } else { Exit::Done })
}

/// Writes the records: as lines, or as an array.
async fn copy(
    client: &Client,
    arguments: &Arguments,
    as_array: bool,
    out: &mut impl Write,
    failed: &impl Fn(io::Error) -> CliError,
) -> Result<Counts, CliError> {
    let (first, between, last) = if as_array { ("[\n", ",\n", "\n]\n") } else { ("", "\n", "\n") };
    let mut counts = Counts::default();
    let mut records = Records::open(client, arguments).await?;
    while let Some(record) = records.next().await? {
        let before = if counts.lines == 0 { first } else { between };
        out.write_all(before.as_bytes()).and_then(|()| out.write_all(&record)).map_err(failed)?;
        if arguments.follow {
            // It is read as it comes.
            out.flush().map_err(failed)?;
        }
        counts.lines += 1;
        let State { status } = serde_json::from_slice(&record).map_err(|error| unreadable(&error))?;
        match status.as_ref() {
            "completed" => {}
            "failed" | "cancelled" => counts.unanswered += 1,
            _ => counts.live += 1,
        }
    }
    if counts.lines > 0 {
        out.write_all(last.as_bytes()).map_err(failed)?;
    }
    Ok(counts)
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
