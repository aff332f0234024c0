//! `overnight export`: all stored data, as a file.

use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use overnight_store::Store;
use overnight_store::audit_log;
use overnight_store::operations::transfer::{self, Counts, ExportError};
use serde_json::json;

use super::operator;
use crate::errors::{CliError, Exit};
use crate::files::AtomicFile;
use crate::globals::Globals;
use crate::output::Output;
use crate::paths::path;
use crate::times;

const BUFFER_BYTES: usize = 256 << 10;

#[derive(Debug, Args)]
#[command(after_help = "\
The file is as of one moment; a running service goes on, and what it does later is not in it. To migrate, stop the
service first.

The file holds secrets: the signing secrets of webhooks and the secret of the sort keys as they are, the hashes of
passwords, and the digests of API keys; and all prompts, answers and e-mail addresses. With - they go wherever standard
output goes. Whoever reads it can forge webhooks and try passwords: keep it as you keep the data folder, encrypt what
leaves this machine, and delete it after the import.")]
pub(crate) struct Arguments {
    /// The file to write, once all of it is there; - is standard output.
    #[arg(value_name = "FILE", value_parser = path())]
    file: PathBuf,
    /// Replace FILE if there is one.
    #[arg(long)]
    force: bool,
}

pub(crate) async fn run(arguments: Arguments, globals: &Globals, output: &Output) -> Result<Exit, CliError> {
    let path = arguments.file.as_path();
    let is_file = path != Path::new("-");
    if is_file && !arguments.force {
        refuse_to_replace(path)?;
    }
    let store = operator::open_store_to_read(globals).await?;
    match store.is_read_only() {
        true => output.note("the data folder cannot be written: its audit log does not tell of this export"),
        false => audit_log::note_export(&store, times::now()).await?,
    }
    let counts = if !is_file {
        let mut out = BufWriter::with_capacity(BUFFER_BYTES, io::stdout());
        let failed = |error| CliError::stdout(&error);
        let counts = write(&store, &mut out, failed).await?;
        out.flush().map_err(failed)?;
        // The export itself is already on standard output.
        match output.is_json {
            true => output.say(&json!(counts).to_string()),
            false => output.note(&format!("exported {}", summary(&counts))),
        }
        counts
    } else {
        let failed = |error| CliError::file(path, &error);
        let mut file = AtomicFile::create_private(path).map_err(failed)?;
        let counts = write(&store, &mut file, failed).await?;
        file.commit().map_err(failed)?;
        output.either(&counts, || format!("{} exported to {}", summary(&counts), path.display()))?;
        counts
    };
    if counts.of("objects") > 0 {
        output.note(
            "bodies in the object store are not in the file, which has their names: the store that imports it needs the same `[object_store]`",
        );
    }
    store.close().await;
    Ok(Exit::Done)
}

/// Only empty files, and paths that are not regular files, are replaced.
fn refuse_to_replace(path: &Path) -> Result<(), CliError> {
    match fs::metadata(path) {
        Ok(found) if found.is_file() && found.len() > 0 => {
            let message = format!("{} exists, and the export would replace it", path.display());
            Err(CliError::unusable(message).with_hint("name another file, or add --force"))
        }
        _ => Ok(()),
    }
}

async fn write(
    store: &Store,
    out: &mut (dyn Write + Send),
    failed: impl Fn(io::Error) -> CliError,
) -> Result<Counts, CliError> {
    transfer::export(store, out).await.map_err(|error| match error {
        ExportError::Write(error) => failed(error),
        ExportError::Store(error) => error.into(),
    })
}

pub(super) fn summary(counts: &Counts) -> String {
    let words = [
        ("requests", "request", "requests"),
        ("results", "result", "results"),
        ("batches", "batch", "batches"),
        ("accounts", "account", "accounts"),
        ("api_keys", "key", "keys"),
        ("events", "event", "events"),
    ];
    let words = words.map(|(table, one, many)| match counts.of(table) {
        1 => format!("1 {one}"),
        count => format!("{count} {many}"),
    });
    words.join(", ")
}
