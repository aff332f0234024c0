//! One life of a command, from the start of its guard to the end of everything that the command started.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as Socket;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};

use overnight_base::clock::{SharedClock, TimeLimit};
use overnight_config::CommandConfig;
use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use tokio::io::BufReader;
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::process::{Child, Command};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::announcement::{self, Announcement};
use super::launch::{environment, find_program, working_dir};
use super::{GUARD_GRACE_MS, ProcessStatus};
use crate::log_lines::{self, LastWords};

/// Limit for the last lines of an ended process.
const LAST_WORDS_WAIT_MS: i64 = 500;

/// The interval between looks at a process group that has lost its guard.
const LOOK_MS: i64 = 50;

pub(super) struct Launch {
    pub(super) engine: String,
    pub(super) config: CommandConfig,
    /// The program that is the guard when it is called with `engine-guard`.
    pub(super) guard: PathBuf,
}

/// A command under its guard. If dropped, the guard ends the command.
pub(super) struct Life {
    engine: String,
    stop_timeout_ms: i64,
    clock: SharedClock,
    guard: Child,
    /// The guard's standard input. When it is closed, the guard ends the command.
    hold: Option<OwnedWriteHalf>,
    told: BufReader<OwnedReadHalf>,
    /// As announced by the guard; `None` until then.
    group: Option<Pid>,
    /// The readers of its output; they end when every process has closed it.
    readers: JoinSet<()>,
    last_words: LastWords,
}

impl Life {
    /// Starts the guard, which starts the command.
    pub(super) fn begin(
        launch: &Launch,
        clock: &SharedClock,
        last_words: &LastWords,
    ) -> Result<Self, String> {
        let program = find_program(&launch.config)?;
        let folder = working_dir(&launch.config)?;
        let start = || -> io::Result<Self> {
            let (own, theirs) = Socket::pair()?;
            own.set_nonblocking(true)?;
            let (told, hold) = UnixStream::from_std(own)?.into_split();
            let mut guard = command(launch, program.into(), theirs).current_dir(folder).spawn()?;
            let missing = || io::Error::other("a pipe to it is missing");
            let output = BufReader::new(guard.stdout.take().ok_or_else(missing)?);
            let errors = BufReader::new(guard.stderr.take().ok_or_else(missing)?);
            let mut readers = JoinSet::new();
            let (engine, words) = (launch.engine.clone(), last_words.clone());
            readers.spawn(async move { log_lines::log(output, &engine, &words).await });
            let (engine, words) = (launch.engine.clone(), last_words.clone());
            readers.spawn(async move { log_lines::log(errors, &engine, &words).await });
            Ok(Self {
                engine: launch.engine.clone(),
                stop_timeout_ms: launch.config.stop_timeout.0,
                clock: clock.clone(),
                guard,
                hold: Some(hold),
                told: BufReader::new(told),
                group: None,
                readers,
                last_words: last_words.clone(),
            })
        };
        start().map_err(|error| format!("its guard {} cannot be started: {error}", launch.guard.display()))
    }

    /// Runs until nothing of the command is left, then sets the status to `Stopped`. Ends the command when the status becomes `Stopping`.
    pub(super) async fn run(mut self, status: watch::Sender<ProcessStatus>) {
        let mut watched = status.subscribe();
        let asked_to_stop = async {
            _ = watched.wait_for(|status| *status == ProcessStatus::Stopping).await;
        };
        let outcome = tokio::select! {
            biased;
            outcome = self.guard_ended() => outcome,
            () = asked_to_stop => self.stop().await,
        };
        if !outcome.as_ref().is_ok_and(|exit| exit.signal().is_none()) {
            self.end_orphans().await;
        }
        let reason = self.reason(outcome).await;
        let before = status.borrow().clone();
        self.log_end(&before, &reason);
        let by_itself = before != ProcessStatus::Stopping;
        status.send_replace(ProcessStatus::Stopped { reason: by_itself.then_some(reason) });
    }

    /// Why it ended, with its last lines.
    async fn reason(&mut self, outcome: io::Result<ExitStatus>) -> String {
        let reason = match outcome {
            Ok(exit) => in_words(exit),
            Err(error) => format!("its guard cannot be waited for: {error}"),
        };
        let late = self.clock.sleep_until(self.clock.now().saturating_add(LAST_WORDS_WAIT_MS));
        tokio::select! {
            () = async { while self.readers.join_next().await.is_some() {} } => {}
            () = late => {}
        }
        match self.last_words.take() {
            Some(words) => format!("{reason}; its last words: {words}"),
            None => reason,
        }
    }

    fn log_end(&self, before: &ProcessStatus, reason: &str) {
        let engine = &self.engine;
        if *before == ProcessStatus::Running {
            tracing::error!(target: "engine", engine, "the engine is down: {reason}");
        } else {
            // If it was not ready yet, its starter gets the reason.
            tracing::info!(target: "engine", engine, "stopped");
        }
    }

    /// Waits for the guard's end, and reads its announcement before.
    async fn guard_ended(&mut self) -> io::Result<ExitStatus> {
        if self.group.is_none() {
            let line = log_lines::next_line(&mut self.told, announcement::BYTES_MAX).await;
            self.group = line.and_then(|line| Announcement::read(&line));
        }
        self.guard.wait().await
    }

    /// Closes the guard's input and waits for its end, however long; the command is ended directly if that takes too long.
    async fn stop(&mut self) -> io::Result<ExitStatus> {
        self.hold = None;
        let wait_ms = self.stop_timeout_ms.saturating_add(GUARD_GRACE_MS);
        let late = self.clock.sleep_until(self.clock.now().saturating_add(wait_ms));
        tokio::select! {
            biased;
            outcome = self.guard_ended() => return outcome,
            () = late => {}
        }
        let engine = &self.engine;
        tracing::error!(target: "engine", engine, "not ended {} s after it was told to, and killed", wait_ms / 1_000);
        self.send(Signal::KILL);
        self.guard_ended().await
    }

    /// Ends the process group of a command whose guard was killed.
    async fn end_orphans(&mut self) {
        let engine = &self.engine;
        if self.group.is_none() {
            tracing::error!(target: "engine", engine, "the guard was killed before it said what it guards; look for what is left");
            return;
        }
        tracing::error!(target: "engine", engine, "the guard was killed; ending the process group that it guarded");
        for (signal, wait_ms) in [(Signal::TERM, self.stop_timeout_ms), (Signal::KILL, GUARD_GRACE_MS)] {
            self.send(signal);
            let mut limit = TimeLimit::begin(&self.clock, wait_ms);
            while self.group.is_some_and(|group| test_kill_process_group(group).is_ok()) {
                if limit.is_over() {
                    break;
                }
                self.pause(LOOK_MS).await;
            }
        }
    }

    fn send(&self, signal: Signal) {
        // Fails if the group has ended since.
        _ = self.group.map(|group| kill_process_group(group, signal));
    }

    async fn pause(&self, wait_ms: i64) {
        self.clock.sleep_until(self.clock.now().saturating_add(wait_ms)).await;
    }
}

/// How the command ended, by its guard's exit status.
fn in_words(exit: ExitStatus) -> String {
    match (exit.code(), exit.signal()) {
        (Some(code @ 129..=192), _) => format!("it was ended by signal {}", code - 128),
        (Some(code), _) => format!("it ended with exit status {code}"),
        (None, Some(signal)) => format!("its guard was killed by signal {signal}, so it was ended"),
        (None, None) => format!("it ended with {exit}"),
    }
}

fn command(launch: &Launch, program: OsString, service: Socket) -> Command {
    let mut command = Command::new(&launch.guard);
    command
        .arg0("engine-guard")
        .arg("engine-guard")
        .arg("--stop-timeout-ms")
        .arg(launch.config.stop_timeout.0.to_string())
        .arg("--")
        .arg(program)
        .args(launch.config.command.iter().skip(1))
        .env_clear()
        .envs(environment(&launch.config))
        .stdin(Stdio::from(OwnedFd::from(service)))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // A kill of the service's group does not kill the guard, which then ends the command.
        .process_group(0);
    command
}
