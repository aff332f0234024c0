//! Refusals in streams that have begun.

use overnight_domain::ids::CallId;
use overnight_wire::openai::errors::ErrorObject;

use super::errors::error_object;
use crate::http::errors::{self, Refusal};

/// A refusal that comes when the stream has begun: it is an event, and what is a fault of ours is logged.
pub(super) fn error_in_stream(refusal: &Refusal, call: CallId) -> ErrorObject {
    if let Refusal::App(error) = refusal {
        errors::log(error, format_args!("call {call}"));
    }
    error_object(refusal, call)
}
