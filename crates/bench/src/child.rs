//! Processes under measurement: the service, whose program is in the same folder, and other roles of this program.

use std::env::consts::EXE_SUFFIX;
use std::ffi::OsStr;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde::de::DeserializeOwned;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::{Child, ChildStdout, Command};

use super::PEER_COMMAND;
use super::peers::{Listening, Peer};
use crate::process::{self, Memory};

/// Dropping it kills the process.
pub(super) struct Process {
    child: Child,
    pid: u32,
}

impl Process {
    /// Starts the program `overnight`; returns its first line, parsed as JSON.
    pub(super) async fn start_service<A: AsRef<OsStr>, T: DeserializeOwned>(
        arguments: impl IntoIterator<Item = A>,
    ) -> io::Result<(Self, T)> {
        let program = service_program()?;
        let unknown =
            |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", program.display()));
        Self::start(&program, arguments).await.map_err(unknown)
    }

    /// Runs a command of the program `overnight` to its end; returns its output, parsed as JSON, and its CPU time.
    pub(super) async fn run_command<A: AsRef<OsStr>, T: DeserializeOwned>(
        arguments: impl IntoIterator<Item = A>,
    ) -> io::Result<(T, Duration)> {
        let mut child = command(&service_program()?, arguments).spawn()?;
        let mut output = Vec::new();
        if let Some(mut stdout) = child.stdout.take() {
            stdout.read_to_end(&mut output).await?;
        }
        // Until it is waited for, the system knows its CPU time.
        let cpu_time = process::cpu_time(child.id().unwrap_or_default())?;
        let status = child.wait().await?;
        if status.success() {
            Ok((serde_json::from_slice(&output)?, cpu_time))
        } else {
            Err(io::Error::other(format!("a command failed: {status}")))
        }
    }

    async fn start_peer<T: DeserializeOwned>(peer: &Peer) -> io::Result<(Self, T)> {
        let arguments = [PEER_COMMAND.to_owned(), serde_json::to_string(peer)?];
        Self::start(&std::env::current_exe()?, arguments).await
    }

    /// Starts a program without settings from the environment; returns its first line, parsed as JSON. Later lines are not read.
    async fn start<A: AsRef<OsStr>, T: DeserializeOwned>(
        program: &Path,
        arguments: impl IntoIterator<Item = A>,
    ) -> io::Result<(Self, T)> {
        let mut child = command(program, arguments).spawn()?;
        let pid = child.id().ok_or_else(|| io::Error::other("a child process ended at once"))?;
        let line = read_line(child.stdout.take()).await?;
        Ok((Self { child, pid }, line))
    }

    /// Starts a peer that serves; returns its address.
    pub(super) async fn start_server(peer: &Peer) -> io::Result<(Self, SocketAddr)> {
        let (process, Listening { listening }) = Self::start_peer(peer).await?;
        Ok((process, listening))
    }

    /// Runs a peer to its end; returns its result.
    pub(super) async fn run_peer<T: DeserializeOwned>(peer: &Peer) -> io::Result<T> {
        let (mut process, outcome) = Self::start_peer(peer).await?;
        let status = process.child.wait().await?;
        if status.success() { Ok(outcome) } else { Err(io::Error::other(format!("a peer failed: {status}"))) }
    }

    pub(super) fn cpu_time(&self) -> io::Result<Duration> {
        process::cpu_time(self.pid)
    }

    pub(super) fn memory(&self) -> io::Result<Memory> {
        process::memory(self.pid)
    }

    /// The peak restarts at the current resident memory.
    pub(super) fn forget_peak(&self) -> io::Result<()> {
        process::forget_peak(self.pid)
    }

    /// Pauses the process until [`Self::resume`].
    pub(super) fn pause(&self) -> io::Result<()> {
        self.signal(Signal::STOP)
    }

    pub(super) fn resume(&self) -> io::Result<()> {
        self.signal(Signal::CONT)
    }

    fn signal(&self, signal: Signal) -> io::Result<()> {
        let pid = i32::try_from(self.pid).ok().and_then(Pid::from_raw);
        let pid = pid.ok_or_else(|| io::Error::other("a child process has no number"))?;
        Ok(kill_process(pid, signal)?)
    }

    /// Kills the process, as a power cut would, and waits until it has ended.
    pub(super) async fn kill(mut self) -> io::Result<()> {
        self.child.kill().await
    }
}

fn command<A: AsRef<OsStr>>(program: &Path, arguments: impl IntoIterator<Item = A>) -> Command {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).kill_on_drop(true);
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("OVERNIGHT_"))
    {
        command.env_remove(name);
    }
    command
}

/// The program of the service, in the same folder.
fn service_program() -> io::Result<PathBuf> {
    Ok(std::env::current_exe()?.with_file_name(format!("overnight{EXE_SUFFIX}")))
}

async fn read_line<T: DeserializeOwned>(stdout: Option<ChildStdout>) -> io::Result<T> {
    let mut line = String::new();
    if let Some(stdout) = stdout {
        BufReader::new(stdout).read_line(&mut line).await?;
    }
    serde_json::from_str(&line).map_err(|error| io::Error::other(format!("a peer said {line:?}: {error}")))
}
