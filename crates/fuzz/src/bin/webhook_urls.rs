//! Searches for an input that breaks `overnight_fuzz::webhook_urls`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| overnight_fuzz::webhook_urls::check(input));
