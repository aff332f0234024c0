//! Batches whose requests are lines of files, and the view of every batch for clients that read files.

mod coming;
mod filling;
mod inputs;
mod traced;

pub use self::coming::ComingBatch;
pub use self::filling::{FillPause, fill_account, list_filling};
pub use self::inputs::{
    FromFile, create_of_file, delete_output, get_with_input, keep_length, list_with_inputs, read_file,
};
pub use overnight_store::batches::InputBatch;
