//! The environment of an engine's process. The service's own contains keys of payments, sign-in, other engines and the database; an engine
//! gets only the variables in this list.

use std::ffi::OsString;

const NAMES: [&str; 17] = [
    "PATH",
    "HOME",
    "LANG",
    "LANGUAGE",
    "TZ",
    "TZDIR",
    "TMPDIR",
    "LD_LIBRARY_PATH",
    "DYLD_LIBRARY_PATH",
    "DYLD_FALLBACK_LIBRARY_PATH",
    "RUST_LOG",
    "RUST_BACKTRACE",
    // Not the whole prefix: NVIDIA_API_KEY is the key of a hosted engine.
    "NVIDIA_VISIBLE_DEVICES",
    "NVIDIA_DRIVER_CAPABILITIES",
    "NVIDIA_TF32_OVERRIDE",
    "XDG_CACHE_HOME",
    "XDG_RUNTIME_DIR",
];

/// Prefixes of passed variables: the language, llama.cpp, its threads and its accelerators.
const PREFIXES: [&str; 18] = [
    "LC_",
    "GGML_",
    "LLAMA_",
    "OMP_",
    "GOMP_",
    "KMP_",
    "MKL_",
    "OPENBLAS_",
    "CUDA_",
    "HIP_",
    "HSA_",
    "ROCR_",
    "VK_",
    "ZE_",
    "ZES_",
    "SYCL_",
    "UR_",
    "ONEAPI_",
];

/// A name with one of these words is not passed on, whatever its prefix: `LLAMA_API_KEY` is a key.
const SECRET_WORDS: [&str; 5] = ["KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIAL"];

/// When llama.cpp aborts, it starts a debugger if there is one, whose lines hide the reason.
const NO_DEBUGGER: (&str, &str) = ("GGML_NO_BACKTRACE", "1");

pub fn engine_environment() -> impl Iterator<Item = (OsString, OsString)> {
    let (name, value) = NO_DEBUGGER;
    let passed = std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(is_passed_on));
    std::iter::once((name.into(), value.into())).chain(passed)
}

fn is_passed_on(name: &str) -> bool {
    let is_listed = NAMES.contains(&name) || PREFIXES.iter().any(|prefix| name.starts_with(prefix));
    is_listed && !SECRET_WORDS.iter().any(|word| name.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_engine_that_aborts_starts_no_debugger() {
        let no_debugger = ("GGML_NO_BACKTRACE".into(), "1".into());
        assert_eq!(engine_environment().next(), Some(no_debugger));
    }

    #[test]
    fn an_engine_gets_what_it_computes_with_and_no_key() {
        for (name, expected) in [
            ("PATH", true),
            ("LC_ALL", true),
            ("CUDA_VISIBLE_DEVICES", true),
            ("GGML_CUDA_FORCE_MMQ", true),
            ("OMP_NUM_THREADS", true),
            ("MKL_NUM_THREADS", true),
            ("OPENBLAS_NUM_THREADS", true),
            ("ONEAPI_DEVICE_SELECTOR", true),
            ("SYCL_CACHE_PERSISTENT", true),
            ("ZE_AFFINITY_MASK", true),
            ("ZES_ENABLE_SYSMAN", true),
            ("UR_ADAPTERS_FORCE_LOAD", true),
            ("NVIDIA_VISIBLE_DEVICES", true),
            ("NVIDIA_API_KEY", false),
            ("LLAMA_API_KEY", false),
            ("LLAMA_ARG_HF_TOKEN", false),
            ("STRIPE_SECRET_KEY", false),
            ("OIDC_CLIENT_SECRET", false),
            ("OVERNIGHT_DATABASE_URL", false),
            ("DATABASE_URL", false),
            ("path", false),
            ("PATH_TO_ALL", false),
        ] {
            assert_eq!(is_passed_on(name), expected, "{name}");
        }
    }
}
