//! Searches for an input that breaks `overnight_fuzz::engine_answers`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| overnight_fuzz::engine_answers::check(input));
