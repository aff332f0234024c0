//! The command line and its descriptions for `--help`, shells and the manual.

use clap::{Args, CommandFactory, FromArgMatches, Subcommand, ValueHint};

use crate::args::{AFTER_HELP, Cli, Command};
use crate::examples;
use crate::globals::Globals;

/// The command line with the examples of every command.
pub(crate) fn command() -> clap::Command {
    examples::add(hinted(Cli::command()))
}

/// Turns off completion of values that only the user knows, because a shell would offer files. A number below 0 is a value, which the
/// option itself refuses, and not another option.
fn hinted(command: clap::Command) -> clap::Command {
    let names: Vec<String> = command.get_subcommands().map(|below| below.get_name().to_owned()).collect();
    let command = names.into_iter().fold(command, |command, name| command.mut_subcommand(name, hinted));
    command.mut_args(|arg| match arg.get_value_hint() {
        ValueHint::Unknown if !arg.is_positional() && arg.get_action().takes_values() => {
            arg.value_hint(ValueHint::Other).allow_negative_numbers(true)
        }
        _ => arg,
    })
}

/// Without commands that only the service starts.
pub(crate) fn shown_command() -> clap::Command {
    let whole = Cli::command();
    let bare = clap::Command::new("overnight").version(env!("CARGO_PKG_VERSION")).after_help(AFTER_HELP);
    let shown = Command::augment_subcommands(Globals::augment_args(bare));
    let shown = whole.get_about().into_iter().fold(shown, |shown, about| shown.about(about.clone()));
    let shown =
        whole.get_long_about().into_iter().fold(shown, |shown, about| shown.long_about(about.clone()));
    examples::add(hinted(shown))
}

/// Reads the command line. On a fault, or for help, it prints and ends the process.
pub(crate) fn read() -> Cli {
    let mut matches = command().get_matches();
    Cli::from_arg_matches_mut(&mut matches).unwrap_or_else(|error| error.format(&mut command()).exit())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::examples::EXAMPLES;

    fn check(command: &clap::Command, path: &str) {
        let lines = examples::of(path).unwrap_or_else(|| panic!("`overnight {path}` has no example"));
        for line in lines {
            assert!(line.contains(format!("overnight {path}").trim_end()), "{path}: {line}");
        }
        for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
            check(below, format!("{path} {}", below.get_name()).trim_start());
        }
    }

    #[test]
    fn every_command_has_examples_and_shows_them() {
        check(&command(), "");
        for (path, lines) in EXAMPLES {
            let mut command = command();
            let found = path
                .split_whitespace()
                .try_fold(&mut command, |command, name| command.find_subcommand_mut(name));
            let help = found.unwrap_or_else(|| panic!("there is no `overnight {path}`")).render_long_help();
            assert!(lines.iter().all(|line| help.to_string().contains(line)), "{help}");
        }
    }

    /// This program's part of a line, split as a shell does.
    fn words(line: &str) -> Vec<String> {
        let own = &line[line.find("overnight").unwrap()..];
        let own = own.split([')', '>']).next().unwrap().split(" | ").next().unwrap();
        let parts = own.split('\'').enumerate();
        let words = parts.flat_map(|(place, part)| match place % 2 {
            0 => part.split_whitespace().map(str::to_owned).collect::<Vec<_>>(),
            _ => vec![part.to_owned()],
        });
        let id = "01m7y0rzzseek913qyxrf6gat5";
        let names = [
            ("$REQUEST", "req"),
            ("$BATCH", "batch"),
            ("$ACCOUNT", "acct"),
            ("$KEY_ID", "key"),
            ("$EVENT", "evt"),
        ];
        words
            .map(|word| match names.iter().find(|(name, _)| *name == word) {
                Some((_, prefix)) => format!("{prefix}_{id}"),
                None => word,
            })
            .collect()
    }

    #[test]
    fn every_example_is_a_command_line_that_is_understood() {
        for line in EXAMPLES.iter().flat_map(|(_, lines)| *lines) {
            if let Err(error) = Cli::try_parse_from(words(line)) {
                assert_eq!(error.kind(), clap::error::ErrorKind::DisplayHelp, "{line}: {error}");
            }
        }
    }
}
