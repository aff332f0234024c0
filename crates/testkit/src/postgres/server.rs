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

/// The limit of a start, including recovery after a crash: one minute.
const POLLS_MAX: u32 = 6_000;
const POLL: Duration = Duration::from_millis(10);
const LOG_LINES: usize = 20;

/// Dropping it shuts the server down immediately, as in a crash: uncommitted data are lost.
#[derive(Debug)]
pub(super) struct Server {
    process: Child,
}

impl Server {
    /// Starts the server with `program` and waits until `accepts` returns true.
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
            // Ctrl-C is for the tests; the folder's keeper stops the server.
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
    /// Its children serve the sessions.
    pub(super) fn process_id(&self) -> u32 {
        self.process.id()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // After the process was waited for, another process may have its ID.
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
