//! What the processor can do, and how many of its cores are whole ones.

use std::{collections::HashSet, fs, num::NonZeroUsize, path::Path, thread};

/// Features that the program was built to use and that this processor lacks; empty where all is well.
#[must_use]
pub fn missing_features() -> Vec<&'static str> {
    #[cfg(target_arch = "x86_64")]
    let features = [
        ("AVX", is_x86_feature_detected!("avx")),
        ("AVX2", is_x86_feature_detected!("avx2")),
        ("FMA", is_x86_feature_detected!("fma")),
        ("F16C", is_x86_feature_detected!("f16c")),
        ("BMI2", is_x86_feature_detected!("bmi2")),
    ];
    #[cfg(not(target_arch = "x86_64"))]
    let features: [(&str, bool); 0] = [];
    let missing = features.into_iter().filter(|(_, is_there)| !is_there).map(|(feature, _)| feature);
    let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    missing.chain(missing_flags(env!("NATIVE_CPU_FLAGS"), &cpuinfo)).collect()
}

/// Flags, parted by blanks, that the first processor of Linux's list does not have.
fn missing_flags<'f>(wanted: &'f str, cpuinfo: &str) -> Vec<&'f str> {
    let line = cpuinfo.lines().find(|line| line.starts_with("flags") || line.starts_with("Features"));
    let flags = line.and_then(|line| line.split_once(':')).map_or("", |(_, flags)| flags);
    let flags: HashSet<&str> = flags.split_whitespace().collect();
    wanted.split_whitespace().filter(|flag| !flags.contains(flag)).collect()
}

/// How many threads leave one core to everything else: with more than the free cores, all wait for the slowest.
#[must_use]
pub fn default_threads() -> usize {
    let usable = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let physical = physical_cores(Path::new("/sys/devices/system/cpu")).unwrap_or(usable);
    physical.min(usable).saturating_sub(1).max(1)
}

/// Counts distinct cores below Linux's folder of processors; `None` where there is no such folder.
fn physical_cores(folder: &Path) -> Option<usize> {
    let read = |path: &Path, name: &str| fs::read_to_string(path.join("topology").join(name)).ok();
    let core = |path: &Path| Some((read(path, "physical_package_id")?, read(path, "core_id")?));
    let processors = fs::read_dir(folder).ok()?.filter_map(Result::ok);
    let cores: HashSet<(String, String)> =
        processors.filter_map(|processor| core(&processor.path())).collect();
    (!cores.is_empty()).then_some(cores.len())
}

#[cfg(test)]
mod tests {
    use super::{default_threads, missing_features, missing_flags, physical_cores};
    use std::path::Path;

    #[test]
    fn there_is_always_a_thread() {
        assert!(default_threads() >= 1);
    }

    #[test]
    fn what_a_processor_lacks_is_named() {
        let cpuinfo = "processor\t: 0\nflags\t\t: fpu avx avx2 avx512f\n\nprocessor\t: 1\nflags\t\t: fpu\n";
        assert_eq!(missing_flags("avx avx512f avx512_vnni", cpuinfo), ["avx512_vnni"]);
        assert_eq!(missing_flags("", cpuinfo), [""; 0]);
        assert_eq!(missing_flags("avx", ""), ["avx"]);
        assert!(missing_features().is_empty(), "this program was built for this processor");
    }

    #[test]
    fn without_linuxs_folder_no_core_is_counted() {
        assert_eq!(physical_cores(Path::new("no/such/folder")), None);
    }
}
