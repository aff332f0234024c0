//! Batches that take their requests from files, and what every batch looks like to clients that read files.

mod coming;
mod filling;
mod inputs;
mod traced;

pub use self::coming::ComingBatch;
pub use self::filling::{FillPause, fill_account, list_filling};
pub use self::inputs::{FromFile, create_of_file, delete_output, get_with_input, list_with_inputs, outputs};
pub use crate::store::batches::{InputBatch, OutputKind};
