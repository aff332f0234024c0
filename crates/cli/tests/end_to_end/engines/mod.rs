//! Engines that the service starts with a command, as real processes under the real guard.

mod guard;
mod processes;
mod program;
mod service;

use std::fs;
use std::path::Path;

/// The process ids in a script's file, one on each line.
fn pids(path: &Path) -> Vec<u32> {
    let text = fs::read_to_string(path).unwrap_or_default();
    text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n')?.parse().ok()).collect()
}

/// Whether the process exists and has not ended.
fn is_there(pid: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status"));
    status.is_ok_and(|status| !status.contains("State:\tZ"))
}

fn kill(pid: u32, signal: &str) {
    let sent = std::process::Command::new("kill").args([&format!("-{signal}"), &pid.to_string()]).status();
    assert!(sent.unwrap().success());
}
