#![allow(clippy::unwrap_used, reason = "a test's helper fails its test, as the test itself may")]

mod engine;
