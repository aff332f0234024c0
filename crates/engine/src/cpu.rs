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
    features.into_iter().filter(|(_, is_there)| !is_there).map(|(feature, _)| feature).collect()
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
    use super::{default_threads, physical_cores};
    use std::path::Path;

    #[test]
    fn there_is_always_a_thread() {
        assert!(default_threads() >= 1);
    }

    #[test]
    fn without_linuxs_folder_no_core_is_counted() {
        assert_eq!(physical_cores(Path::new("no/such/folder")), None);
    }
}
