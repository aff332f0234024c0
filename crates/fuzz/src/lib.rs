//! Properties of each reader and writer of foreign text, as functions that panic if an input breaks them.
//!
//! Programs search for such inputs (`src/bin/`, built and run by `scripts/fuzz`), and a test tries the stored inputs and variations of them
//! (`tests/it/`).

pub mod corpus;
pub mod engine_answers;
pub mod json_lines;
pub mod keys_and_forms;
mod oracles;
mod records;
pub mod request_bodies;
mod told_again;
pub mod webhook_urls;

pub struct Target {
    /// The name of its module, its program and its stored inputs.
    pub name: &'static str,
    /// Panics if an input breaks the property.
    pub check: fn(&[u8]),
}

pub const TARGETS: [Target; 5] = [
    Target { name: "request_bodies", check: request_bodies::check },
    Target { name: "engine_answers", check: engine_answers::check },
    Target { name: "json_lines", check: json_lines::check },
    Target { name: "webhook_urls", check: webhook_urls::check },
    Target { name: "keys_and_forms", check: keys_and_forms::check },
];
