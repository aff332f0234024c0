//! JSON as text: checked once, made compact once, then read in place without building a tree.
//!
//! [`minimize`] is the only entry for clients' text: it returns one well-formed RFC 8259 value in UTF-8, nested at most [`DEPTH_MAX`] deep,
//! with the white space outside strings removed and no other change. [`repair()`] is the only entry for answers of engines: the same pass,
//! which also repairs common mistakes and reports them. [`Json`] is a borrowed value of such text; its readers walk the bytes and never
//! recurse.

mod error;
mod object;
mod repair;
mod repeated_keys;
mod scan;
mod strings;
mod tokens;
mod value;
mod write;

pub use error::JsonError;
pub use object::{Member, Members, RawObject};
pub use repair::{Repaired, Repairs, repair};
pub use scan::minimize;
pub use strings::{Piece, Pieces};
pub use value::{Elements, Json, JsonText, Kind};
pub use write::{ObjectWriter, array, quote};

/// The deepest accepted nesting, counted from the outermost brace of an HTTP body.
pub const DEPTH_MAX: u32 = 64;

#[cfg(test)]
mod tests;
