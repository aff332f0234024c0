//! `overnight man`: manual pages, generated from the texts of `--help`.

use std::fs;
use std::path::PathBuf;

use clap::{Arg, Args, Command, ValueHint};
use clap_mangen::Man;

use crate::errors::{CliError, Exit};
use crate::output::Output;
use crate::paths::path;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Write the pages of all commands into this folder, which is made [default: the page of the program to standard output].
    #[arg(long, short, value_name = "FOLDER", value_hint = ValueHint::DirPath, value_parser = path())]
    output: Option<PathBuf>,
}

struct Page {
    name: String,
    text: String,
}

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

/// The pages of the command and its subcommands.
fn pages(command: &Command) -> Result<Vec<Page>, CliError> {
    let mut pages = vec![page(command)?];
    for below in command.get_subcommands() {
        pages.extend(self::pages(below)?);
    }
    Ok(pages)
}

fn page(command: &Command) -> Result<Page, CliError> {
    let man = Man::new(command.clone().override_usage(synopsis(command)));
    let mut text = Vec::new();
    man.render(&mut text)
        .map_err(|error| CliError::unusable(format!("the manual cannot be written: {error}")))?;
    Ok(Page { name: man.get_filename(), text: String::from_utf8_lossy(&text).into_owned() })
}

/// The command line in short: options with their values, optional ones first.
fn synopsis(command: &Command) -> String {
    let options = || command.get_arguments().filter(|arg| !arg.is_positional() && !arg.is_hide_set());
    let optional = options().filter(|arg| !arg.is_required_set()).map(|arg| format!("[{}]", written(arg)));
    let required = options().filter(|arg| arg.is_required_set()).map(written);
    let operands = command.get_positionals().filter(|arg| !arg.is_hide_set()).map(operand);
    let below = match (command.has_subcommands(), command.is_subcommand_required_set()) {
        (false, _) => None,
        (true, true) => Some("<COMMAND>".to_owned()),
        (true, false) => Some("[COMMAND]".to_owned()),
    };
    let name = command.get_bin_name().unwrap_or_else(|| command.get_name()).to_owned();
    let words = [name].into_iter().chain(optional).chain(required).chain(operands).chain(below);
    words.collect::<Vec<_>>().join(" ")
}

/// An option as users write it: `-o, --output <FILE>`.
fn written(option: &Arg) -> String {
    let short = option.get_short().map(|short| format!("-{short}"));
    let long = option.get_long().map(|long| format!("--{long}"));
    let name = [short, long].into_iter().flatten().collect::<Vec<_>>().join("|");
    let values = option.get_action().takes_values().then(|| values(option));
    [Some(name), values].into_iter().flatten().collect::<Vec<_>>().join(" ")
}

fn operand(operand: &Arg) -> String {
    let more = if operand.get_num_args().is_some_and(|count| count.max_values() > 1) { "..." } else { "" };
    match operand.is_required_set() {
        true => format!("{}{more}", values(operand)),
        false => format!("[{}]{more}", values(operand)),
    }
}

/// `<NAME>` of each value.
fn values(arg: &Arg) -> String {
    let names = arg.get_value_names().unwrap_or_default();
    names.iter().map(|name| format!("<{name}>")).collect::<Vec<_>>().join(" ")
}
