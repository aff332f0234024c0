//! What a process has used, as Linux tells it.

use std::fs;
use std::io;
use std::time::Duration;

/// `USER_HZ`, which every architecture that Rust's standard library runs on shows as 100.
const TICKS_PER_SECOND: u64 = 100;

/// Resident memory, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Memory {
    /// What is resident now, without pages of files.
    pub(crate) anonymous: u64,
    /// What is resident now.
    pub(crate) resident: u64,
    /// The most that was resident since the start, or since [`forget_peak`].
    pub(crate) peak: u64,
}

/// The CPU time that the process has used in all its threads, in user mode and for it in the kernel.
pub(crate) fn cpu_time(pid: u32) -> io::Result<Duration> {
    Ok(duration(ticks(pid, 2)?))
}

/// The same of the process and its children, those that ended among them.
pub(crate) fn cpu_time_with_children(pid: u32) -> io::Result<Duration> {
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"))?;
    let children = children.split_whitespace().filter_map(|child| child.parse().ok());
    // One that has just ended is counted with its parent.
    let of_children: u64 = children.map(|child| ticks(child, 2).unwrap_or(0)).sum();
    Ok(duration(ticks(pid, 4)? + of_children))
}

fn duration(ticks: u64) -> Duration {
    Duration::from_millis(ticks * 1_000 / TICKS_PER_SECOND)
}

/// The sum of the first of `utime`, `stime`, `cutime` and `cstime`.
fn ticks(pid: u32, count: usize) -> io::Result<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    // The name, in brackets, may hold anything; the fields behind it begin with the third.
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
    Ok(fields.split_whitespace().skip(11).take(count).filter_map(|ticks| ticks.parse::<u64>().ok()).sum())
}

/// The memory that the process holds.
pub(crate) fn memory(pid: u32) -> io::Result<Memory> {
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
pub(crate) fn forget_peak(pid: u32) -> io::Result<()> {
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
