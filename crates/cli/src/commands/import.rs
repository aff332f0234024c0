//! `overnight import`: fills an empty store from a file of `overnight export`.

use std::fs::File;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};

use clap::Args;
use overnight_store::operations::transfer;

use super::export::summary;
use super::operator;
use crate::errors::{CliError, Exit};
use crate::globals::Globals;
use crate::output::Output;
use crate::paths::path;
use crate::times;

const BUFFER_BYTES: usize = 256 << 10;

#[derive(Debug, Args)]
#[command(after_help = "\
All of the file is stored, or nothing is. From SQLite to PostgreSQL without a file between:
  overnight export - | overnight --database-url postgres://… import -")]
pub(crate) struct Arguments {
    /// The file to read; - is standard input.
    #[arg(value_name = "FILE", value_parser = path())]
    file: PathBuf,
}

pub(crate) async fn run(arguments: Arguments, globals: &Globals, output: &Output) -> Result<Exit, CliError> {
    let path = arguments.file.as_path();
    let options = operator::options(&globals.load_operator_config()?);
    let now = times::now();
    let counts = if path == Path::new("-") {
        transfer::import(&options, &mut BufReader::with_capacity(BUFFER_BYTES, io::stdin()), now).await?
    } else {
        let file = File::open(path).map_err(|error| CliError::file(path, &error))?;
        transfer::import(&options, &mut BufReader::with_capacity(BUFFER_BYTES, file), now).await?
    };
    output.either(&counts, || format!("{} imported", summary(&counts)))?;
    Ok(Exit::Done)
}
