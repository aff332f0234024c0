//! The server of a cluster while it runs.

use std::fs::{self, File};
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use super::account::Account;
use super::folder::Folder;

/// How long a start may take, recovery after a crash included: a minute.
const POLLS_MAX: u32 = 6_000;
const POLL: Duration = Duration::from_millis(10);
/// How much of what the server said stands in an error.
const LOG_LINES: usize = 20;

/// A server that is shut down at once when this is dropped, as in a crash: what it did not commit is lost.
#[derive(Debug)]
pub(super) struct Server {
    process: Child,
}

impl Server {
    /// Starts it with `program` and waits until `accepts` says that it takes sessions.
    pub(super) fn start(
        mut program: Command,
        folder: &Folder,
        account: Option<Account>,
        accepts: impl Fn() -> bool,
    ) -> io::Result<Self> {
        let log = File::options().create(true).append(true).open(folder.log())?;
        program
            .current_dir(folder.path())
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            // Ctrl-C is for the tests; what becomes of the server is the folder's affair.
            .process_group(0);
        if let Some(account) = account {
            account.run(&mut program);
        }
        let mut server = Self { process: program.spawn()? };
        for _ in 0..POLLS_MAX {
            if let Some(status) = server.process.try_wait()? {
                return Err(failure(&format!("ended with {status}"), folder));
            }
            if accepts() {
                return Ok(server);
            }
            thread::sleep(POLL);
        }
        Err(failure("does not take sessions", folder))
    }
}

impl Server {
    /// The number of its process, whose children serve the sessions.
    pub(super) fn process_id(&self) -> u32 {
        self.process.id()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Once it was waited for, its number may be another's.
        if let Ok(None) = self.process.try_wait() {
            let _ = kill_process(Pid::from_child(&self.process), Signal::QUIT);
            let _ = self.process.wait();
        }
    }
}

fn failure(what: &str, folder: &Folder) -> io::Error {
    let log = fs::read(folder.log()).unwrap_or_default();
    let log = String::from_utf8_lossy(&log);
    let lines: Vec<&str> = log.lines().collect();
    let tail = lines[lines.len().saturating_sub(LOG_LINES)..].join("\n");
    io::Error::other(format!("PostgreSQL's server {what}. The last it said:\n{tail}"))
}
