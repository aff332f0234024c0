//! `overnight man`: the manual pages, made of what `--help` says.

use std::fs;
use std::path::PathBuf;

use clap::{Args, Command};
use clap_mangen::Man;

use crate::errors::{CliError, Exit};
use crate::output::Output;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Write the pages of all commands into this folder, which is made [default: the page of the program to standard output].
    #[arg(long, short, value_name = "FOLDER")]
    output: Option<PathBuf>,
}

/// A page, and what its file is called.
struct Page {
    name: String,
    text: String,
}

/// Prints or writes the pages of `command`.
pub(crate) fn run(arguments: &Arguments, command: Command, output: &Output) -> Result<Exit, CliError> {
    let mut command = command.disable_help_subcommand(true);
    command.build();
    let Some(folder) = &arguments.output else {
        output.line(page(&command)?.text.trim_end())?;
        return Ok(Exit::Done);
    };
    let failed = |error| CliError::file(folder, &error);
    fs::create_dir_all(folder).map_err(failed)?;
    let pages = pages(&command)?;
    for Page { name, text } in &pages {
        fs::write(folder.join(name), text).map_err(failed)?;
    }
    output.note(&format!("{} pages in {}", pages.len(), folder.display()));
    Ok(Exit::Done)
}

/// The pages of the command and of all below it.
fn pages(command: &Command) -> Result<Vec<Page>, CliError> {
    let mut pages = vec![page(command)?];
    for below in command.get_subcommands() {
        pages.extend(self::pages(below)?);
    }
    Ok(pages)
}

fn page(command: &Command) -> Result<Page, CliError> {
    let man = Man::new(command.clone());
    let mut text = Vec::new();
    man.render(&mut text)
        .map_err(|error| CliError::unusable(format!("the manual cannot be written: {error}")))?;
    Ok(Page { name: man.get_filename(), text: String::from_utf8_lossy(&text).into_owned() })
}
