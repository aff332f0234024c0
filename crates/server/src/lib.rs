//! The whole service: its parts, started and stopped together.

pub mod service;

/// Whether this build contains bugs that tests must catch (`scripts/planted-bugs`). No program is released from such a build.
pub const HOLDS_PLANTED_BUGS: bool = cfg!(feature = "planted-bugs");
