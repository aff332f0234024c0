//! Processes under measurement: the running executable, started anew with other arguments.

use std::ffi::OsStr;
use std::io;
use std::net::SocketAddr;
use std::process::Stdio;
use std::time::Duration;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, ChildStdout, Command};

use super::PEER_COMMAND;
use super::peers::{Listening, Peer};
use super::process::{self, Memory};

/// A process that is killed when this is dropped.
pub(super) struct Process {
    child: Child,
    pid: u32,
}

impl Process {
    /// Starts this executable with other arguments, and without settings from the environment.
    pub(super) fn start<A: AsRef<OsStr>>(arguments: impl IntoIterator<Item = A>) -> io::Result<Self> {
        Self::spawn(arguments, Stdio::null()).map(|(process, _)| process)
    }

    fn spawn<A: AsRef<OsStr>>(
        arguments: impl IntoIterator<Item = A>,
        stdout: Stdio,
    ) -> io::Result<(Self, Option<ChildStdout>)> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(arguments).stdin(Stdio::null()).stdout(stdout).kill_on_drop(true);
        for (name, _) in
            std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("OVERNIGHT_"))
        {
            command.env_remove(name);
        }
        let mut child = command.spawn()?;
        let stdout = child.stdout.take();
        let pid = child.id().ok_or_else(|| io::Error::other("a child process ended at once"))?;
        Ok((Self { child, pid }, stdout))
    }

    /// Starts a peer that serves; where it listens.
    pub(super) async fn start_server(peer: &Peer) -> io::Result<(Self, SocketAddr)> {
        let (process, stdout) = Self::spawn(peer_arguments(peer)?, Stdio::piped())?;
        let Listening { listening } = read_line(stdout).await?;
        Ok((process, listening))
    }

    /// Runs a peer to its end; what it says.
    pub(super) async fn run_peer<T: DeserializeOwned>(peer: &Peer) -> io::Result<T> {
        let (mut process, stdout) = Self::spawn(peer_arguments(peer)?, Stdio::piped())?;
        let outcome = read_line(stdout).await;
        let status = process.child.wait().await?;
        if status.success() { outcome } else { Err(io::Error::other(format!("a peer failed: {status}"))) }
    }

    /// The CPU time it has used.
    pub(super) fn cpu_time(&self) -> io::Result<Duration> {
        process::cpu_time(self.pid)
    }

    /// The memory it holds.
    pub(super) fn memory(&self) -> io::Result<Memory> {
        process::memory(self.pid)
    }

    /// From now on its peak is what is resident now.
    pub(super) fn forget_peak(&self) -> io::Result<()> {
        process::forget_peak(self.pid)
    }

    /// Whether it has ended by itself.
    pub(super) fn has_ended(&mut self) -> io::Result<bool> {
        Ok(self.child.try_wait()?.is_some())
    }

    /// Kills it, as a power cut would, and waits until it is gone.
    pub(super) async fn kill(mut self) -> io::Result<()> {
        self.child.kill().await
    }
}

fn peer_arguments(peer: &Peer) -> io::Result<[String; 2]> {
    Ok([PEER_COMMAND.to_owned(), serde_json::to_string(peer)?])
}

async fn read_line<T: for<'a> Deserialize<'a>>(stdout: Option<ChildStdout>) -> io::Result<T> {
    let mut line = String::new();
    if let Some(stdout) = stdout {
        BufReader::new(stdout).read_line(&mut line).await?;
    }
    serde_json::from_str(&line).map_err(|error| io::Error::other(format!("a peer said {line:?}: {error}")))
}
