//! The processor's features and its number of physical cores.

use std::{collections::HashSet, fs, num::NonZeroUsize, path::Path, thread};

/// llama.cpp multiplies weights with the vectors of this many tokens together. A remainder costs another pass over the weights.
pub const TILE_TOKENS: usize = 4;

/// The optional features that llama.cpp was built with, separated by spaces.
#[must_use]
pub fn build_features() -> String {
    // The chosen variant uses AVX-512 if the processor has it.
    #[cfg(all(feature = "cpu-variants", target_arch = "x86_64"))]
    if is_x86_feature_detected!("avx512f") {
        return "avx512f".to_owned();
    }
    env!("NATIVE_CPU_FLAGS").to_owned()
}

/// The processors that llama.cpp was built for, in words.
#[must_use]
pub fn build() -> String {
    if cfg!(feature = "cpu-variants") {
        let maps = fs::read_to_string("/proc/self/maps").unwrap_or_default();
        return variant(&maps).map_or_else(
            || "the variant for this processor".to_owned(),
            |name| format!("{name}, chosen among variants for all processors"),
        );
    }
    let features = build_features();
    let has = |wanted: &str| features.split(' ').any(|feature| feature == wanted);
    match (has("avx512f"), has("avx2"), cfg!(target_arch = "x86_64")) {
        (true, ..) => "AVX-512, built for this machine's processor".to_owned(),
        (_, true, _) => "AVX2, built for this machine's processor".to_owned(),
        _ if !features.is_empty() => "built for this machine's processor".to_owned(),
        (.., true) => "AVX2, built for any processor that has it".to_owned(),
        _ => "built for any processor".to_owned(),
    }
}

/// The variant among the files that Linux lists as mapped.
fn variant(maps: &str) -> Option<&str> {
    let file = |line| str::rsplit(line, '/').next();
    maps.lines().filter_map(file).find_map(|file| file.strip_prefix("libggml-cpu-")?.strip_suffix(".so"))
}

/// Features that the program was built to use and that this processor lacks.
#[must_use]
pub fn missing_features() -> Vec<&'static str> {
    #[cfg(all(target_arch = "x86_64", not(feature = "cpu-variants")))]
    let features = [
        ("AVX", is_x86_feature_detected!("avx")),
        ("AVX2", is_x86_feature_detected!("avx2")),
        ("FMA", is_x86_feature_detected!("fma")),
        ("F16C", is_x86_feature_detected!("f16c")),
        ("BMI2", is_x86_feature_detected!("bmi2")),
    ];
    #[cfg(any(not(target_arch = "x86_64"), feature = "cpu-variants"))]
    let features: [(&str, bool); 0] = [];
    let missing = features.into_iter().filter(|(_, is_there)| !is_there).map(|(feature, _)| feature);
    let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    missing.chain(missing_flags(env!("NATIVE_CPU_FLAGS"), &cpuinfo)).collect()
}

/// The `wanted` flags, separated by spaces, that the first processor in Linux's list lacks.
fn missing_flags<'f>(wanted: &'f str, cpuinfo: &str) -> Vec<&'f str> {
    let line = cpuinfo.lines().find(|line| line.starts_with("flags") || line.starts_with("Features"));
    let flags = line.and_then(|line| line.split_once(':')).map_or("", |(_, flags)| flags);
    let flags: HashSet<&str> = flags.split_whitespace().collect();
    wanted.split_whitespace().filter(|flag| !flags.contains(flag)).collect()
}

/// Leaves one core free: with more threads than free cores, all wait for the slowest.
#[must_use]
pub fn default_threads() -> usize {
    let usable = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let physical = physical_cores(Path::new("/sys/devices/system/cpu")).unwrap_or(usable);
    physical.min(usable).saturating_sub(1).max(1)
}

/// Counts distinct cores below Linux's folder of processors; `None` if it does not exist.
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
    use super::{build, default_threads, missing_features, missing_flags, physical_cores, variant};
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
    fn the_build_is_told_in_words() {
        let is_native = !env!("NATIVE_CPU_FLAGS").is_empty();
        assert_eq!(build().contains("this machine's processor"), is_native, "{}", build());
        let maps = "7f00-7f01 r-xp 0 fe:01 7 /usr/lib/libc.so.6\n7f02-7f03 r-xp 0 fe:01 9 /opt/o/libggml-cpu-icelake.so\n";
        assert_eq!(variant(maps), Some("icelake"));
        assert_eq!(variant("7f00-7f01 r-xp 0 fe:01 7 /opt/o/libggml-base.so\n"), None);
    }

    #[test]
    fn without_linuxs_folder_no_core_is_counted() {
        assert_eq!(physical_cores(Path::new("no/such/folder")), None);
    }
}
