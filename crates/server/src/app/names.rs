//! What people call accounts and keys.

use super::errors::AppError;

const NAME_BYTES_MAX: usize = 256;

/// Refuses a name that is empty, too long, or would garble a terminal.
pub(super) fn check(name: &str) -> Result<(), AppError> {
    let is_fine = (1..=NAME_BYTES_MAX).contains(&name.len()) && !name.contains(char::is_control);
    let message = "must have 1 to 256 bytes and no control characters";
    is_fine.then_some(()).ok_or_else(|| AppError::invalid("name", "out_of_range", message))
}
