//! This program again, as a process for work whose time and memory no thread can bound. The system ends it at its limits.

use std::{
    env, io,
    path::PathBuf,
    process::{Command, Stdio},
};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::memory;

/// The C library's settings: such a process needs neither large pages nor address space for more threads.
const TUNABLES: &str = "glibc.malloc.arena_max=1";

/// The command that starts it with this first argument.
pub fn command(argument: &str) -> io::Result<Command> {
    let mut command = Command::new(program()?);
    command
        .arg(argument)
        .env(memory::LIBRARY_SETTINGS, TUNABLES)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    Ok(command)
}

/// This program, also after its file was replaced.
fn program() -> io::Result<PathBuf> {
    if cfg!(target_os = "linux") { Ok("/proc/self/exe".into()) } else { env::current_exe() }
}

/// Limits the processor time of this process, and on Linux the memory that it takes from now on.
pub fn limit_process(seconds: u64, bytes: u64) -> io::Result<()> {
    limit(Resource::Core, 0, 0)?;
    // At the first limit the process ends by SIGXCPU, which names the reason.
    limit(Resource::Cpu, seconds, seconds + 1)?;
    if let Some(own) = memory::own("VmSize:") {
        limit(Resource::As, own + bytes, own + bytes)?;
    }
    Ok(())
}

/// Never raises a limit.
fn limit(resource: Resource, current: u64, maximum: u64) -> io::Result<()> {
    let own = getrlimit(resource).maximum.unwrap_or(u64::MAX);
    let lowered = Rlimit { current: Some(current.min(own)), maximum: Some(maximum.min(own)) };
    Ok(setrlimit(resource, lowered)?)
}
