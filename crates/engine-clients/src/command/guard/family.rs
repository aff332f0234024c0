//! A command and its descendants, as seen by their guard.

use std::collections::HashSet;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, wait};

pub(super) struct Family {
    leader: Pid,
    /// `None` while the command runs.
    ended: Option<WaitStatus>,
    has_children: bool,
    /// Processes that were sent SIGTERM.
    warned: HashSet<Pid>,
}

impl Family {
    /// The family of a child that leads its own process group.
    pub(super) fn of(leader: Pid) -> Self {
        Self { leader, ended: None, has_children: true, warned: HashSet::new() }
    }

    /// Whether the command itself still runs.
    pub(super) fn leader_runs(&mut self) -> bool {
        self.reap();
        self.ended.is_none() && self.has_children
    }

    /// The command's exit code as in shells; a failure if its end was not observed.
    pub(super) fn exit_code(&self) -> u8 {
        let code = self.ended.and_then(|status| {
            status.exit_status().or_else(|| status.terminating_signal().map(|signal| 128 + signal))
        });
        code.and_then(|code| u8::try_from(code & 0xff).ok()).unwrap_or(1)
    }

    /// Reaps every ended child, including adopted ones.
    fn reap(&mut self) {
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) if pid == self.leader => self.ended = Some(status),
                Ok(Some(_)) | Err(Errno::INTR) => {}
                Ok(None) => return,
                Err(_) => {
                    self.has_children = false;
                    return;
                }
            }
        }
    }
}

/// The guard adopts orphaned descendants, so each descendant is a child of it or of another descendant. Therefore a guard without children
/// has no descendants, and a walk through the parents of all processes finds every one of them.
#[cfg(target_os = "linux")]
mod members {
    use std::collections::HashMap;

    use rustix::process::{getpid, kill_process};

    use super::{Family, Pid, Signal};

    impl Family {
        /// Whether the command and all of its descendants have ended.
        pub(in super::super) fn is_gone(&mut self) -> bool {
            self.reap();
            !self.has_children
        }

        /// Sends every descendant a signal; SIGTERM once each.
        pub(in super::super) fn send(&mut self, signal: Signal) {
            for pid in descendants() {
                if signal != Signal::TERM || self.warned.insert(pid) {
                    // Fails if the process has ended since.
                    _ = kill_process(pid, signal);
                }
            }
        }
    }

    fn descendants() -> Vec<Pid> {
        let mut children: HashMap<Pid, Vec<Pid>> = HashMap::new();
        let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        for pid in processes.filter_map(|entry| read_pid(entry.file_name().to_str()?)) {
            if let Some(parent) = parent_of(pid) {
                children.entry(parent).or_default().push(pid);
            }
        }
        let (mut found, mut ancestors) = (Vec::new(), vec![getpid()]);
        while let Some(pid) = ancestors.pop() {
            let own = children.remove(&pid).unwrap_or_default();
            ancestors.extend(own.iter().copied());
            found.extend(own);
        }
        found
    }

    fn parent_of(pid: Pid) -> Option<Pid> {
        let stat = std::fs::read(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?;
        let stat = String::from_utf8_lossy(&stat);
        // The name in brackets may contain anything: brackets, spaces, bytes that are not text.
        let (_, behind_name) = stat.rsplit_once(')')?;
        read_pid(behind_name.split_whitespace().nth(1)?)
    }

    fn read_pid(text: &str) -> Option<Pid> {
        Pid::from_raw(text.parse().ok()?)
    }
}

/// Nobody adopts orphans here, so only the process group can be found.
#[cfg(not(target_os = "linux"))]
mod members {
    use rustix::process::{kill_process_group, test_kill_process_group};

    use super::{Errno, Family, Signal};

    impl Family {
        /// Whether the command's process group is empty.
        pub(in super::super) fn is_gone(&mut self) -> bool {
            self.reap();
            !self.has_children && test_kill_process_group(self.leader) == Err(Errno::SRCH)
        }

        /// Sends the process group a signal; SIGTERM once.
        pub(in super::super) fn send(&mut self, signal: Signal) {
            if signal != Signal::TERM || self.warned.insert(self.leader) {
                // Fails if the group has ended since.
                _ = kill_process_group(self.leader, signal);
            }
        }
    }
}
