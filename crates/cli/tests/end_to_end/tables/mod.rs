//! Tables as input and output: a template for each row, and the answers after its columns.

mod costs;
mod formats;
mod joining;
mod resuming;
mod schema;

use std::process::Command;

use crate::support::{Ran, World};

/// A command whose arguments may contain spaces.
pub(super) fn command(world: &World, words: &[&str]) -> Command {
    let mut command = world.command("");
    command.args(words);
    command
}

pub(super) fn run(world: &World, words: &[&str]) -> Ran {
    command(world, words).output().unwrap().into()
}

/// The rows of a CSV without quotes, split at commas.
pub(super) fn rows(text: &str) -> Vec<Vec<&str>> {
    text.lines().map(|line| line.split(',').collect()).collect()
}
