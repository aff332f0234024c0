//! What people call accounts, keys and processes.

use overnight_domain::faults::codes;

use super::errors::AppError;

const NAME_BYTES_MAX: usize = 256;

/// The machine's name and the process's number.
pub(super) fn of_process() -> String {
    let machine = rustix::system::uname();
    format!("{}/{}", machine.nodename().to_string_lossy(), std::process::id())
}

/// Refuses a name that is empty, too long, or would garble a terminal.
pub(super) fn check(name: &str) -> Result<(), AppError> {
    let is_fine = (1..=NAME_BYTES_MAX).contains(&name.len()) && !name.contains(char::is_control);
    let message = "must have 1 to 256 bytes and no control characters";
    is_fine.then_some(()).ok_or_else(|| AppError::invalid("name", codes::OUT_OF_RANGE, message))
}
