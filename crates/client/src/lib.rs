//! How others call it: the Rust client of the HTTP API.
