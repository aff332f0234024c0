//! The guard: the process between the service and a command that serves a model.
//!
//! The service can die without stopping what it started. The guard notices: it holds one end of a socket whose other end only the service
//! has, and when that socket closes it ends the command with all of its descendants.
//!
//! The command of an engine of `kind = "command"` is the child of a guard (`engines::command::guard`), which is this program again. On
//! Linux it adopts orphans: without children it has no descendants, so it exits when nothing of the command is left. If the guard itself is
//! killed, the service ends the process group that the guard announced.

mod family;

use std::ffi::OsString;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream as Socket;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::Arc;

use overnight_base::clock::{SharedClock, SystemClock, TimeLimit};
use rustix::process::{Pid, Signal};
use tokio::io::AsyncReadExt;
use tokio::net::UnixStream;
use tokio::signal::unix::{Signal as Signals, SignalKind, signal};

use self::family::Family;
use super::announcement::Announcement;

/// The interval between looks for descendants while they are being ended.
const LOOK_MS: i64 = 100;

/// Exit codes of shells: the command does not exist, cannot be run, or the shell failed.
const NOT_FOUND: u8 = 127;
const NOT_RUN: u8 = 126;
const UNUSABLE: u8 = 125;

/// Runs the first string as a program, with the others as its arguments, until it ends, standard input (a socket) closes, or SIGTERM comes.
/// Announces the command's process group on the socket first. Then ends the remaining descendants: with SIGTERM, and after
/// `stop_timeout_ms` with SIGKILL. On Linux no descendant is left; on other systems none of the group.
///
/// Returns the command's exit code (128 and the number of the signal that ended it); 125 to 127 if it could not be run, which standard
/// error explains. The calling process must have one thread and no other children.
pub fn run_guard(command: &[OsString], stop_timeout_ms: i64) -> u8 {
    let run = || -> io::Result<u8> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(guard(command, stop_timeout_ms))
    };
    run().unwrap_or_else(|error| {
        say(&format!("the guard of an engine cannot do its work: {error}"));
        UNUSABLE
    })
}

async fn guard(command: &[OsString], stop_timeout_ms: i64) -> io::Result<u8> {
    step_aside()?;
    let clock: SharedClock = Arc::new(SystemClock);
    let mut service = service()?;
    let mut children = signal(SignalKind::child())?;
    let mut terminated = signal(SignalKind::terminate())?;
    // Ctrl-C and a closed terminal are for the service, which ends the command when it no longer needs it.
    let _ignored = (signal(SignalKind::interrupt())?, signal(SignalKind::hangup())?);
    let leader = match start(command) {
        Ok(leader) => leader,
        Err(error) => {
            say(&format!(
                "{} cannot be started: {error}",
                command.first().unwrap_or(&OsString::new()).display()
            ));
            return Ok(if error.kind() == io::ErrorKind::NotFound { NOT_FOUND } else { NOT_RUN });
        }
    };
    announce(&mut service, leader).await;
    let mut family = Family::of(leader);
    while family.leader_runs() {
        tokio::select! {
            _ = children.recv() => {}
            _ = terminated.recv() => break,
            () = end_of(&mut service) => break,
        }
    }
    end(&mut family, &mut children, &clock, stop_timeout_ms).await;
    Ok(family.exit_code())
}

/// Takes its own process name, so that a kill of the service by name does not kill the guard, and adopts orphaned descendants of the
/// command.
#[cfg(target_os = "linux")]
fn step_aside() -> io::Result<()> {
    rustix::thread::set_name(c"engine-guard")?;
    Ok(rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?)
}

#[cfg(not(target_os = "linux"))]
fn step_aside() -> io::Result<()> {
    Ok(())
}

/// Standard input, which must be a socket.
fn service() -> io::Result<UnixStream> {
    let socket = Socket::from(io::stdin().as_fd().try_clone_to_owned()?);
    let started_otherwise =
        |_| io::Error::other("only the service starts it, with a socket as its standard input");
    socket.local_addr().map_err(started_otherwise)?;
    socket.set_nonblocking(true)?;
    UnixStream::from_std(socket)
}

/// In its own process group.
fn start(command: &[OsString]) -> io::Result<Pid> {
    let (program, arguments) = command.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    let child = Command::new(program).args(arguments).stdin(Stdio::null()).process_group(0).spawn()?;
    i32::try_from(child.id())
        .ok()
        .and_then(Pid::from_raw)
        .ok_or_else(|| io::Error::other("it has no process id"))
}

/// Tells the service which group to end if the guard is killed. A failure is noticed later, when the service is gone.
async fn announce(service: &mut UnixStream, leader: Pid) {
    let line = Announcement { process_group: leader.as_raw_nonzero().get() }.line();
    _ = tokio::io::AsyncWriteExt::write_all(service, line.as_bytes()).await;
}

/// Ends when the service has ended or closed its end of the socket.
async fn end_of(service: &mut UnixStream) {
    let mut ignored = [0; 64];
    while service.read(&mut ignored).await.is_ok_and(|count| count > 0) {}
}

async fn end(family: &mut Family, children: &mut Signals, clock: &SharedClock, stop_timeout_ms: i64) {
    let mut limit = TimeLimit::begin(clock, stop_timeout_ms);
    while !family.is_gone() {
        family.send(if limit.is_over() { Signal::KILL } else { Signal::TERM });
        tokio::select! {
            _ = children.recv() => {}
            () = clock.sleep_until(clock.now().saturating_add(LOOK_MS)) => {}
        }
    }
}

fn say(words: &str) {
    // There is nobody to report a failed write to.
    _ = writeln!(io::stderr(), "{words}");
}
