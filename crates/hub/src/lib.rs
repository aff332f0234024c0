//! Models by name: GGUF files of the Hugging Face Hub.
//!
//! A name is `hf:OWNER/REPO`, optionally followed by `@REVISION` and by `:FILE` or `:QUANTISATION`. Files are in the Hub's own cache folder
//! and layout (`models--OWNER--REPO` with `blobs`, `snapshots` and `refs`), so other tools' downloads are reused. An interrupted download
//! continues where it stopped. A file is used only if its size and SHA-256 match those from the Hub.

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
