//! `overnight results`: what was asked and what was answered, one line for each request.

use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use clap::Args;
use overnight_client::{Client, RawLines};
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
            let counts = copy(&client, &arguments.id, output.is_json, &mut file, &failed).await?;
            file.commit().map_err(failed)?;
            counts
        }
        None => {
            let mut out = BufWriter::new(io::stdout());
            let failed = |error| CliError::stdout(&error);
            let counts = copy(&client, &arguments.id, output.is_json, &mut out, &failed).await?;
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
    subject: &Subject,
    as_array: bool,
    out: &mut impl Write,
    failed: &impl Fn(io::Error) -> CliError,
) -> Result<Counts, CliError> {
    let (first, between, last) = if as_array { ("[\n", ",\n", "\n]\n") } else { ("", "\n", "\n") };
    let mut counts = Counts::default();
    let mut records = Records::open(client, subject).await?;
    while let Some(record) = records.next().await? {
        let before = if counts.lines == 0 { first } else { between };
        out.write_all(before.as_bytes()).and_then(|()| out.write_all(&record)).map_err(failed)?;
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
}

impl Records {
    async fn open(client: &Client, subject: &Subject) -> Result<Self, CliError> {
        match subject {
            Subject::Batch(id) => Ok(Self::Many(client.get_batch_results(id).await?.into_raw())),
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
        }
    }
}
