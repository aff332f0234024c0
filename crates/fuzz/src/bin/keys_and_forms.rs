//! Searches for an input that breaks `overnight_fuzz::keys_and_forms`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| overnight_fuzz::keys_and_forms::check(input));
