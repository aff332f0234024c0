//! Moving house: everything that is kept, as a file of JSON Lines, from SQLite to PostgreSQL and back.
//!
//! ```text
//! {"format":"overnight-export","version":1,"schema":3}      what it is
//! ["accounts",[1,"AZd…","default",1750000000000]]           a row: its table, and the values in the order of its columns
//! {"rows":{"settings":1,"accounts":1,…},"sha256":"…"}       how many there were, and the SHA-256 of all lines before
//! ```
//!
//! Numbers are numbers, texts and bodies are strings, other bytes are base64. A file that was cut or changed is refused.
//! Both ways go page by page, so that memory holds a few bodies however many there are.

mod counts;
mod errors;
mod export;
mod format;
mod import;
mod lines;
mod statements;
mod tables;
pub(crate) mod target;

pub use self::counts::Counts;
pub use self::errors::{ExportError, ImportError};
pub use self::export::export;
pub use self::import::import;
pub(crate) use self::lines::hex;

/// Rows read or written together.
const ROWS_MAX: usize = 256;

/// Bytes of bodies read or written together, unless a single row has more.
const BYTES_MAX: usize = 8 << 20;
