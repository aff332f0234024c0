//! Paths on the command line.

use std::path::PathBuf;

use clap::builder::{PathBufValueParser, TypedValueParser};
use overnight_base::paths::expanded;

/// Parses a path for clap, and replaces a `~` that the shell left, as in `--config=~/x`, by the home folder.
pub(crate) fn path() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(|path| expanded(path).map_err(|wanted| format!("it must be {wanted}")))
}
