//! The guard's message to the service, as one line of JSON.

use rustix::process::Pid;
use serde::{Deserialize, Serialize};

pub(super) const BYTES_MAX: usize = 256;

/// The first and only line that the guard writes to its socket.
#[derive(Serialize, Deserialize)]
pub(super) struct Announcement {
    /// Of the command.
    pub(super) process_group: i32,
}

impl Announcement {
    pub(super) fn line(&self) -> String {
        format!("{}\n", serde_json::json!(self))
    }

    pub(super) fn read(line: &str) -> Option<Pid> {
        let Self { process_group } = serde_json::from_str(line).ok()?;
        // 0 would be the service's own group, and 1 every process.
        if process_group > 1 { Pid::from_raw(process_group) } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_read_as_it_was_told_and_never_one_that_means_others() {
        let line = Announcement { process_group: 4_321 }.line();
        assert_eq!(Announcement::read(line.trim_end()), Pid::from_raw(4_321));
        for line in ["{\"process_group\":0}", "{\"process_group\":1}", "{\"process_group\":-1}", "{}", ""] {
            assert_eq!(Announcement::read(line), None, "{line}");
        }
    }
}
