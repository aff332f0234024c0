//! Searches for an input that breaks `overnight_fuzz::request_bodies`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| overnight_fuzz::request_bodies::check(input));
