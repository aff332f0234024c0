//! Faults in the params of a message, worded for Anthropic's clients.

use overnight_wire::anthropic::Origins;

use super::errors::{InputFault, InvalidInput};

/// The prefix of paths in the native dialect.
const BODY: &str = "request_body";

/// The first fault, with its path in the params, and how many more there are.
pub fn words(origins: &Origins, invalid: &InvalidInput) -> String {
    let Some(InputFault { param, message, .. }) = invalid.details.first() else { return invalid.message() };
    if param.is_empty() {
        return invalid.message();
    }
    let rest = message.strip_prefix(param.as_str()).unwrap_or(message).trim_start();
    let path = if param.starts_with(BODY) { origins.locate(param) } else { param.clone() };
    // An image source is refused only if the data would have to be fetched.
    let rest = if path.ends_with(".source") { "is not fetched here: send the data as base64" } else { rest };
    match invalid.total.unwrap_or(invalid.details.len()) {
        0 | 1 => format!("{path}: {rest}"),
        2 => format!("{path}: {rest} (and 1 more fault)"),
        total => format!("{path}: {rest} (and {} more faults)", total - 1),
    }
}
