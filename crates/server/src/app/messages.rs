//! What is wrong with the params of a message, told as Anthropic's clients know them.

use overnight_wire::anthropic::Origins;

use super::errors::{InputFault, InvalidInput};

/// What stands before the paths of the native dialect.
const BODY: &str = "request_body";

/// The first fault, after its path in the params, and how many more there are.
pub fn words(origins: &Origins, invalid: &InvalidInput) -> String {
    let Some(InputFault { param, message, .. }) = invalid.details.first() else { return invalid.message() };
    if param.is_empty() {
        return invalid.message();
    }
    let rest = message.strip_prefix(param.as_str()).unwrap_or(message).trim_start();
    let path = if param.starts_with(BODY) { origins.locate(param) } else { param.clone() };
    // Only what would be fetched is refused where the data of an image stand.
    let rest = if path.ends_with(".source") { "is not fetched here: send the data as base64" } else { rest };
    match invalid.total.unwrap_or(invalid.details.len()) {
        0 | 1 => format!("{path}: {rest}"),
        2 => format!("{path}: {rest} (and 1 more fault)"),
        total => format!("{path}: {rest} (and {} more faults)", total - 1),
    }
}
