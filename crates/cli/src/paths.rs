//! Paths on the command line.

use std::path::PathBuf;

use clap::builder::{PathBufValueParser, TypedValueParser};
use overnight_base::paths::expanded;

/// Reads a path, as clap wants its readers: with the home folder in the place of a `~` that the shell left there, as in `--config=~/x`.
pub(crate) fn path() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(|path| expanded(path).map_err(|wanted| format!("it must be {wanted}")))
}
