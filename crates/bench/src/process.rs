//! CPU time and memory of a process, from Linux.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::time::Duration;

/// `USER_HZ`, which is 100 on every architecture that Rust's standard library supports.
const TICKS_PER_SECOND: u64 = 100;
/// The longest chain of parents that is followed.
const CHAIN_MAX: usize = 64;

/// Resident memory, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Memory {
    /// Without pages of files.
    pub(crate) anonymous: u64,
    pub(crate) resident: u64,
    /// The maximum since the start, or since [`forget_peak`].
    pub(crate) peak: u64,
}

/// The CPU time of all threads of the process, in user mode and in the kernel.
pub(crate) fn cpu_time(pid: u32) -> io::Result<Duration> {
    Ok(duration(ticks(pid, 2)?))
}

/// The CPU time of the process and its children, including ended ones.
pub(crate) fn cpu_time_with_children(pid: u32) -> io::Result<Duration> {
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"))?;
    let children = children.split_whitespace().filter_map(|child| child.parse().ok());
    // A child that has just ended is counted with its parent.
    let of_children: u64 = children.map(|child| ticks(child, 2).unwrap_or(0)).sum();
    Ok(duration(ticks(pid, 4)? + of_children))
}

/// The CPU time of the process and its running descendants.
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

/// Whether `process` is `ancestor` or a descendant of it.
fn descends(parents: &HashMap<u32, u32>, process: u32, ancestor: u32) -> bool {
    let chain = std::iter::successors(Some(process), |it| parents.get(it).copied());
    // IDs may be reused while the parents are read, so a chain may be circular.
    chain.take(CHAIN_MAX).any(|it| it == ancestor)
}

fn duration(ticks: u64) -> Duration {
    Duration::from_millis(ticks * 1_000 / TICKS_PER_SECOND)
}

/// The sum of the first `count` of `utime`, `stime`, `cutime` and `cstime`.
fn ticks(pid: u32, count: usize) -> io::Result<u64> {
    Ok(fields(pid)?
        .split_whitespace()
        .skip(11)
        .take(count)
        .filter_map(|ticks| ticks.parse::<u64>().ok())
        .sum())
}

/// The fields of `/proc/PID/stat` from the third on: the second, the name in brackets, may contain any text.
fn fields(pid: u32) -> io::Result<String> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    Ok(stat.rsplit_once(')').map_or("", |(_, fields)| fields).to_owned())
}

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

/// The peak restarts at the current resident memory.
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
