//! `overnight model`: models of the Hugging Face Hub on this machine.

mod recommended;

use clap::{Args, Subcommand};
use overnight_engine_clients::{ModelPurpose, check_model_file};
use overnight_hub::{CachedModel, Hub, HubError, HubName, HubOptions, Progress as Downloaded, list, remove};
use serde_json::{Value, json};

use crate::errors::{CliError, Exit};
use crate::lists::{Columns, List};
use crate::output::Output;
use crate::progress::Progress;

const COLUMNS: Columns = &[("SIZE", 9), ("MODEL", 0)];
const MEGABYTE: u64 = 1_000_000;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Download a model, or what is newer of it; one that was cut goes on where it stopped.
    #[command(after_help = "\
NAME is hf:OWNER/REPO, with @REVISION and :FILE or :QUANTISATION behind it. Without one of these the repository's Q4_K_M is taken,
or what is next to it. HF_TOKEN opens gated and private models; HF_ENDPOINT, HF_HUB_CACHE, HF_HOME and HF_HUB_OFFLINE have the
meaning that they have for the Hub's own tools, whose cache is the same.")]
    Pull(One),
    /// List the models that are here.
    List,
    /// Show where a model is, with its size, and what it is for.
    Show(One),
    /// Remove a model from the cache, also for other tools that share it.
    Remove(One),
    /// List a few small models that are good for a beginning, and which of them suits this machine.
    Recommended,
}

#[derive(Debug, Args)]
pub(crate) struct One {
    /// The model, hf:OWNER/REPO[@REVISION][:FILE or quantisation].
    #[arg(value_name = "NAME", value_parser = read_name)]
    name: HubName,
}

pub(crate) async fn run(command: Command, output: &Output) -> Result<Exit, CliError> {
    match command {
        Command::Pull(One { name }) => pull(&name, output).await?,
        Command::List => show_all(output)?,
        Command::Show(One { name }) => show(&name, output)?,
        Command::Remove(One { name }) => {
            let freed = remove(&hub().options().folder, &name).map_err(failed)?;
            if freed == 0 {
                return Err(missing(&name));
            }
            let text = || format!("removed {name}: {}", size(freed));
            output.either(&json!({"name": name.to_string(), "freed_bytes": freed}), text)?;
        }
        Command::Recommended => recommended::show(output)?,
    }
    Ok(Exit::Done)
}

/// The clients' name for the model: without `hf:` for one of the Hub.
pub(crate) fn name_of(text: &str) -> Result<String, CliError> {
    if HubName::is_meant(text) { parse(text).map(|name| name.model_name()) } else { Ok(text.to_owned()) }
}

/// Parses the name that a command was given.
pub(crate) fn parse(text: &str) -> Result<HubName, CliError> {
    text.parse::<HubName>().map_err(CliError::unusable)
}

fn read_name(text: &str) -> Result<HubName, String> {
    text.parse::<HubName>().map_err(|error| error.to_string())
}

/// Downloads the model if it is not on this machine; shows progress.
pub(crate) async fn fetch(name: &HubName, output: &Output) -> Result<(), CliError> {
    if hub().find(name).is_none() {
        download(name, output).await?;
    }
    Ok(())
}

async fn pull(name: &HubName, output: &Output) -> Result<(), CliError> {
    let (path, is_new) = download(name, output).await?;
    let text = || {
        let what = if is_new { "downloaded" } else { "is the newest" };
        format!("{name} {what}: {}", path.display())
    };
    output.either(&json!({"name": name.to_string(), "path": path, "is_new": is_new}), text)
}

async fn download(name: &HubName, output: &Output) -> Result<(std::path::PathBuf, bool), CliError> {
    let mut progress = None;
    let mut on_progress = |Downloaded { done, total }: Downloaded| {
        let begin = || {
            output.note(&format!("{name}: {}", size(total)));
            Progress::begin(output, "downloading (MB)", total / MEGABYTE, done / MEGABYTE)
        };
        progress.get_or_insert_with(begin).set(done / MEGABYTE, "");
    };
    let found = hub().pull(name, &mut on_progress).await.map_err(failed)?;
    Ok((found.path, found.is_new))
}

fn show_all(output: &Output) -> Result<(), CliError> {
    let mut rows = List::begin(output, COLUMNS);
    for model in list(&hub().options().folder).map_err(failed)? {
        rows.row(&shape(&model), &[&size(model.bytes), &model.name])?;
    }
    if rows.end()? == 0 && !output.is_json {
        output.note("no model is here yet; `overnight model recommended` names a few");
    }
    Ok(())
}

fn show(name: &HubName, output: &Output) -> Result<(), CliError> {
    let path = hub().find(name).ok_or_else(|| missing(name))?;
    let bytes = std::fs::metadata(&path).map_err(|error| CliError::file(&path, &error))?.len();
    let model = CachedModel { name: name.to_string(), bytes, path };
    // The purpose of an incomplete file is unknown.
    let purpose = check_model_file(&model.path).ok();
    let text = || {
        let purpose = match purpose {
            Some(ModelPurpose::Embeddings) => ", an embedding model",
            Some(ModelPurpose::Chat) => ", a chat model",
            None => "",
        };
        format!("{}\n{}{purpose}\nmodel_path = \"{name}\"", model.path.display(), size(bytes))
    };
    let mut record = shape(&model);
    record["purpose"] = json!(purpose.map(ModelPurpose::as_str));
    output.either(&record, text)
}

fn shape(model: &CachedModel) -> Value {
    json!({"name": model.name, "bytes": model.bytes, "path": model.path})
}

fn hub() -> Hub {
    Hub::new(HubOptions::from_environment())
}

fn missing(name: &HubName) -> CliError {
    CliError::refused(format!("{name} is not on this machine"))
        .with_hint(format!("`overnight model pull {name}` downloads it"))
}

fn failed(error: HubError) -> CliError {
    match error {
        HubError::Unreachable { .. } => {
            CliError::unavailable(error).with_hint("the same command goes on where it stopped")
        }
        HubError::BadAnswer { .. } | HubError::Damaged { .. } => CliError::unavailable(error),
        HubError::File { .. } | HubError::NoSpace { .. } | HubError::NoFile { .. } => {
            CliError::unusable(error)
        }
        _ => CliError::refused(error),
    }
}

/// A size in units for people.
pub(crate) fn size(bytes: u64) -> String {
    match bytes / MEGABYTE {
        0 => format!("{} kB", bytes / 1_000),
        megabytes @ 1..=999 => format!("{megabytes} MB"),
        megabytes => format!("{:.1} GB", megabytes as f64 / 1_000.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_said_in_two_digits_or_more() {
        for (bytes, said) in [
            (0, "0 kB"),
            (999_999, "999 kB"),
            (1_000_000, "1 MB"),
            (999_999_999, "999 MB"),
            (2_497_280_736, "2.5 GB"),
        ] {
            assert_eq!(size(bytes), said);
        }
    }
}
