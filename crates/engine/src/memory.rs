//! Weights in large pages of memory. A step reads all weights once, and with pages of 4 KiB it spends a twentieth of its time on finding
//! them (docs/engine.md). A mapped file has only such pages, so the weights are read into memory if there is enough.

use std::{fs, path::Path};

/// The variable with settings of the C library's memory.
pub const LIBRARY_SETTINGS: &str = "GLIBC_TUNABLES";

/// The setting for large pages, if the system allows them on demand.
#[cfg(target_os = "linux")]
pub const LARGE_PAGES: (&str, &str) = (LIBRARY_SETTINGS, "glibc.malloc.hugetlb=1");

/// As much memory must stay free as is taken.
const TIMES_FREE: u64 = 2;

/// Whether weights of `bytes` are read into memory instead of mapped. False if the free memory is unknown.
#[must_use]
pub fn holds_weights(bytes: u64) -> bool {
    available(Path::new("/proc"), Path::new("/sys/fs/cgroup")).is_some_and(|free| free / TIMES_FREE >= bytes)
}

/// How many of `wanted` pieces of `bytes` each fit into half of the available memory; all if the free memory is unknown.
#[must_use]
pub fn fitting(wanted: usize, bytes: u64) -> usize {
    fitting_into(available(Path::new("/proc"), Path::new("/sys/fs/cgroup")), wanted, bytes)
}

fn fitting_into(free: Option<u64>, wanted: usize, bytes: u64) -> usize {
    let Some(free) = free else { return wanted };
    usize::try_from(free / TIMES_FREE / bytes.max(1)).unwrap_or(usize::MAX).min(wanted)
}

/// A number of bytes in this process's status, such as `VmRSS:`; `None` outside Linux.
#[must_use]
pub fn own(name: &str) -> Option<u64> {
    labelled(&fs::read_to_string("/proc/self/status").ok()?, name)
}

/// The bytes in the line of a file of Linux that begins with `name`.
fn labelled(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().strip_suffix(" kB")?.parse::<u64>().ok()?.checked_mul(1_024)
}

/// By Linux's own estimate and within the limits of this process's control groups.
fn available(proc: &Path, groups: &Path) -> Option<u64> {
    let free = labelled(&fs::read_to_string(proc.join("meminfo")).ok()?, "MemAvailable:")?;
    let memberships = fs::read_to_string(proc.join("self/cgroup")).unwrap_or_default();
    let own = memberships.lines().find_map(|line| line.strip_prefix("0::/")).unwrap_or_default();
    let own = groups.join(own);
    let limits = own.ancestors().take_while(|folder| folder.starts_with(groups)).filter_map(left_in_group);
    Some(limits.fold(free, u64::min))
}

/// The memory left in a control group; `None` if it has no limit.
fn left_in_group(folder: &Path) -> Option<u64> {
    let number = |name: &str| fs::read_to_string(folder.join(name)).ok()?.trim().parse::<u64>().ok();
    Some(number("memory.max")?.saturating_sub(number("memory.current")?))
}

#[cfg(test)]
mod tests {
    use std::{env, fs, process};

    use super::{available, fitting, fitting_into, holds_weights};

    #[test]
    fn the_least_of_system_and_groups_counts() {
        let folder = env::temp_dir().join(format!("overnight-engine-memory-{}", process::id()));
        let (proc, groups) = (folder.join("proc"), folder.join("groups"));
        let own = groups.join("outer/inner");
        fs::create_dir_all(proc.join("self")).expect("a folder");
        fs::create_dir_all(&own).expect("a folder");
        assert_eq!(available(&proc, &groups), None);
        fs::write(proc.join("meminfo"), "MemTotal:  9 kB\nMemAvailable:    2000 kB\n").expect("a file");
        assert_eq!(available(&proc, &groups), Some(2_048_000));
        fs::write(proc.join("self/cgroup"), "1:cpu:/\n0::/outer/inner\n").expect("a file");
        fs::write(own.join("memory.max"), "max\n").expect("a file");
        fs::write(own.join("memory.current"), "5\n").expect("a file");
        assert_eq!(available(&proc, &groups), Some(2_048_000));
        fs::write(groups.join("outer/memory.max"), "1000\n").expect("a file");
        fs::write(groups.join("outer/memory.current"), "400\n").expect("a file");
        assert_eq!(available(&proc, &groups), Some(600));
        fs::remove_dir_all(folder).expect("removed");
    }

    #[test]
    fn as_many_as_half_of_what_is_free_holds_fit() {
        assert_eq!(fitting_into(Some(8_000), 10, 1_000), 4);
        assert_eq!(fitting_into(Some(80_000), 10, 1_000), 10);
        assert_eq!(fitting_into(Some(999), 10, 1_000), 0);
        assert_eq!(fitting_into(Some(8_000), 10, 0), 10);
        assert_eq!(fitting_into(None, 10, 1_000), 10);
        assert_eq!(fitting(10, 1), 10);
    }

    #[test]
    fn what_is_larger_than_memory_is_mapped() {
        assert!(!holds_weights(u64::MAX / 4));
    }
}
