//! What a process has used, as Linux tells it.

use std::fs;
use std::io;
use std::time::Duration;

/// `USER_HZ`, which every architecture that Rust's standard library runs on shows as 100.
const TICKS_PER_SECOND: u64 = 100;

/// Resident memory, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Memory {
    /// What is resident now, without pages of files.
    pub(super) anonymous: u64,
    /// What is resident now.
    pub(super) resident: u64,
    /// The most that was resident since the start, or since [`forget_peak`].
    pub(super) peak: u64,
}

/// The CPU time that the process has used in all its threads, in user mode and for it in the kernel.
pub(super) fn cpu_time(pid: u32) -> io::Result<Duration> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    // The name, in brackets, may hold anything; the fields behind it begin with the third.
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
    let ticks: u64 =
        fields.split_whitespace().skip(11).take(2).filter_map(|ticks| ticks.parse::<u64>().ok()).sum();
    Ok(Duration::from_millis(ticks * 1_000 / TICKS_PER_SECOND))
}

/// The memory that the process holds.
pub(super) fn memory(pid: u32) -> io::Result<Memory> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        let kibibytes =
            line.and_then(|line| line.trim_start_matches(':').split_whitespace().next()?.parse().ok());
        kibibytes
            .map(|kibibytes: u64| kibibytes << 10)
            .ok_or_else(|| io::Error::other(format!("no {name} in status")))
    };
    Ok(Memory { anonymous: field("RssAnon")?, resident: field("VmRSS")?, peak: field("VmHWM")? })
}

/// From now on the peak is what is resident now.
pub(super) fn forget_peak(pid: u32) -> io::Result<()> {
    fs::write(format!("/proc/{pid}/clear_refs"), "5")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_sees_its_own_use() {
        let pid = std::process::id();
        let memory = memory(pid).unwrap();
        assert!(memory.anonymous <= memory.resident && memory.resident > 0 && memory.peak > 0);
        assert!(cpu_time(pid).unwrap() <= cpu_time(pid).unwrap());
    }
}
