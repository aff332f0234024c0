//! Common parts of the bodies of all endpoints: checks of their members, and estimates of requests before they run.

mod fields;
mod inputs;
mod path;
mod refused;
mod review;
mod sizing;

pub(crate) use fields::{
    check_allowed, check_booleans, check_depth, check_names, check_numbers, read_integer, read_max_tokens,
    read_model, read_n,
};
pub(crate) use inputs::{count_inputs, read_inputs};
pub(crate) use path::Path;
pub(crate) use review::Review;
pub(crate) use sizing::{LOGPROBS_MAX, OUTPUT_WEIGHT, estimate};

pub use inputs::Inputs;
pub use refused::{RefusedField, refused_fields};
pub use sizing::{ANSWER_BYTES_MAX, Sizing};
