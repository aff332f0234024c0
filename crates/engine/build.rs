//! Tells the program which instructions llama.cpp may use where it is built for the processor of this machine alone
//! (`GGML_NATIVE=ON`): the program looks at its start whether its processor has them.

use std::{env, fs};

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=GGML_NATIVE");
    let has_variants = env::var_os("CARGO_FEATURE_CPU_VARIANTS").is_some();
    let is_native = !has_variants && env::var("GGML_NATIVE").is_ok_and(|value| value == "ON");
    // Elsewhere nothing tells, and compilers of other systems build for a family of processors.
    let flags = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let flags = if is_native { native_flags(&flags) } else { String::new() };
    println!("cargo:rustc-env=NATIVE_CPU_FLAGS={flags}");
    if has_variants && env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "linux") {
        // Its libraries stand beside the program, wherever that is.
        println!("cargo:rustc-link-arg-bins=-Wl,-rpath,$ORIGIN");
    }
}

/// The flags of the first processor that compilers choose instructions by.
fn native_flags(cpuinfo: &str) -> String {
    let line = cpuinfo.lines().find(|line| line.starts_with("flags") || line.starts_with("Features"));
    let flags = line.and_then(|line| line.split_once(':')).map_or("", |(_, flags)| flags);
    let counts = |flag: &&str| {
        let beginnings = ["avx", "sve", "sme", "bmi"];
        let names = ["fma", "f16c", "gfni", "vaes", "vpclmulqdq", "asimddp", "i8mm", "bf16"];
        beginnings.iter().any(|beginning| flag.starts_with(beginning)) || names.contains(flag)
    };
    flags.split_whitespace().filter(counts).collect::<Vec<_>>().join(" ")
}
