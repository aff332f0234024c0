//! Inputs that are kept: a file of JSON Lines for each property, in which an input is a string or, where it is no UTF-8, an array whose one
//! element is its base64.

use std::fs;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

/// The file of a property's inputs.
pub fn file(target: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpora").join(format!("{target}.jsonl"))
}

/// The inputs of a property.
///
/// # Panics
///
/// The file is not there, or has a line that is no input.
pub fn read(target: &str) -> Vec<Vec<u8>> {
    let path = file(target);
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.split_terminator('\n')
        .map(|line| decode(line).unwrap_or_else(|| panic!("no input: {line}")))
        .collect()
}

/// The line of an input, without its end.
pub fn encode(input: &[u8]) -> String {
    match std::str::from_utf8(input) {
        Ok(text) => Value::from(text).to_string(),
        Err(_) => Value::from(vec![STANDARD.encode(input)]).to_string(),
    }
}

/// The input of a line.
pub fn decode(line: &str) -> Option<Vec<u8>> {
    match serde_json::from_str(line).ok()? {
        Value::String(text) => Some(text.into_bytes()),
        Value::Array(parts) => STANDARD.decode(parts.first()?.as_str()?).ok(),
        _ => None,
    }
}
