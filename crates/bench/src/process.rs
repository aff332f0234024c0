//! What a process has used, as Linux tells it.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::time::Duration;

/// `USER_HZ`, which every architecture that Rust's standard library runs on shows as 100.
const TICKS_PER_SECOND: u64 = 100;
/// The longest chain of parents that is followed.
const CHAIN_MAX: usize = 64;

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

/// The same of the process and of all that it started, directly or not, and that runs.
pub(crate) fn cpu_time_of_tree(pid: u32) -> io::Result<Duration> {
    let mut parents = HashMap::new();
    for entry in fs::read_dir("/proc")? {
        let Some(child) = entry?.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        // A process that has just ended is counted with its parent.
        let Ok(fields) = fields(child) else { continue };
        parents.insert(
            child,
            fields.split_whitespace().nth(1).and_then(|parent| parent.parse().ok()).unwrap_or(0),
        );
    }
    let below = parents.keys().filter(|process| **process != pid && descends(&parents, **process, pid));
    let of_others: u64 = below.map(|process| ticks(*process, 4).unwrap_or(0)).sum();
    Ok(duration(ticks(pid, 4)? + of_others))
}

/// Whether `process` is `ancestor`, or was started by it or by one of those that it started.
fn descends(parents: &HashMap<u32, u32>, process: u32, ancestor: u32) -> bool {
    let chain = std::iter::successors(Some(process), |it| parents.get(it).copied());
    // A number may be used again while the parents are read, so a chain may close.
    chain.take(CHAIN_MAX).any(|it| it == ancestor)
}

fn duration(ticks: u64) -> Duration {
    Duration::from_millis(ticks * 1_000 / TICKS_PER_SECOND)
}

/// The sum of the first of `utime`, `stime`, `cutime` and `cstime`.
fn ticks(pid: u32, count: usize) -> io::Result<u64> {
    Ok(fields(pid)?
        .split_whitespace()
        .skip(11)
        .take(count)
        .filter_map(|ticks| ticks.parse::<u64>().ok())
        .sum())
}

/// What the system tells of a process, from the third field on: the second, its name in brackets, may hold anything.
fn fields(pid: u32) -> io::Result<String> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    Ok(stat.rsplit_once(')').map_or("", |(_, fields)| fields).to_owned())
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

    #[test]
    fn a_process_descends_from_all_above_it_and_a_circle_ends() {
        let parents = HashMap::from([(2, 1), (3, 2), (4, 1), (8, 9), (9, 8)]);
        assert!(descends(&parents, 3, 1) && descends(&parents, 3, 2) && descends(&parents, 3, 3));
        assert!(!descends(&parents, 4, 2) && !descends(&parents, 1, 3) && !descends(&parents, 8, 1));
        let pid = std::process::id();
        assert!(cpu_time(pid).unwrap() <= cpu_time_of_tree(pid).unwrap());
    }
}
