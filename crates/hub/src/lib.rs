//! Models by name: GGUF files of the Hugging Face Hub.
//!
//! A name is `hf:OWNER/REPO`, with `@REVISION` and `:FILE` or `:QUANTISATION` behind it where that matters. Files are kept in the
//! Hub's own cache folder, in its own layout (`models--OWNER--REPO` with `blobs`, `snapshots` and `refs`), so what another tool has
//! downloaded is not downloaded again. A download that was cut goes on where it stopped, and a file is used only if its size and
//! its SHA-256 are those that the Hub tells.

#![warn(missing_docs)]

mod api;
mod cache;
mod choice;
mod download;
mod environment;
mod errors;
mod hub;
mod modes;
mod name;
mod writer;

pub use cache::{CachedModel, list, remove};
pub use environment::HubOptions;
pub use errors::HubError;
pub use hub::{Found, Hub, Progress};
pub use name::{HubName, NameError};
