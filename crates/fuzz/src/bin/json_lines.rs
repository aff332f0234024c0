//! Searches for an input that breaks `overnight_fuzz::json_lines`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| overnight_fuzz::json_lines::check(input));
