//! Stored inputs: a JSON Lines file for each property. An input is a string or, if it is not UTF-8, an array with its base64.

use std::fs;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

pub fn file(target: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpora").join(format!("{target}.jsonl"))
}

/// Panics if the file is missing or has an invalid line.
pub fn read(target: &str) -> Vec<Vec<u8>> {
    let path = file(target);
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.split_terminator('\n')
        .map(|line| decode(line).unwrap_or_else(|| panic!("no input: {line}")))
        .collect()
}

/// Without the line break.
pub fn encode(input: &[u8]) -> String {
    match std::str::from_utf8(input) {
        Ok(text) => Value::from(text).to_string(),
        Err(_) => Value::from(vec![STANDARD.encode(input)]).to_string(),
    }
}

pub fn decode(line: &str) -> Option<Vec<u8>> {
    match serde_json::from_str(line).ok()? {
        Value::String(text) => Some(text.into_bytes()),
        Value::Array(parts) => STANDARD.decode(parts.first()?.as_str()?).ok(),
        _ => None,
    }
}
