//! Writes compact JSON from parts that are JSON already.

use super::{Json, JsonText};

/// `text` as a JSON string, quotes included.
pub fn quote(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    push_quoted(text, &mut quoted);
    quoted
}

fn push_quoted(text: &str, into: &mut String) {
    // Many bytes at a time, unlike `any`.
    let is_plain = text.bytes().fold(true, |is_plain, byte| is_plain & !must_be_escaped(byte));
    if is_plain {
        into.push('"');
        into.push_str(text);
        into.push('"');
    } else {
        into.push_str(&serde_json::Value::from(text).to_string());
    }
}

const fn must_be_escaped(byte: u8) -> bool {
    byte < b' ' || byte == b'"' || byte == b'\\'
}

/// An array of these.
pub fn array<'a>(elements: impl Iterator<Item = Json<'a>>) -> JsonText {
    let mut text = String::new();
    push_array(elements, &mut text);
    JsonText::from_scanned(text)
}

fn push_array<'a>(elements: impl Iterator<Item = Json<'a>>, text: &mut String) {
    text.push('[');
    for (index, element) in elements.enumerate() {
        text.push_str(if index > 0 { "," } else { "" });
        text.push_str(element.as_str());
    }
    text.push(']');
}

/// Writes one object, member by member.
#[derive(Debug)]
pub struct ObjectWriter {
    text: String,
}

impl ObjectWriter {
    /// Starts an object, with room for `capacity` bytes.
    pub fn with_capacity(capacity: usize) -> Self {
        let mut text = String::with_capacity(capacity);
        text.push('{');
        Self { text }
    }

    /// Adds a member whose key is written as it was read.
    pub fn copy(&mut self, raw_key: Json<'_>, value: Json<'_>) {
        self.separate();
        self.text.push_str(raw_key.as_str());
        self.text.push(':');
        self.text.push_str(value.as_str());
    }

    /// Adds a member with a string value.
    pub fn string(&mut self, key: &str, value: &str) {
        push_quoted(value, self.key(key));
    }

    /// Adds a member whose value is JSON already.
    pub fn json(&mut self, key: &str, value: Json<'_>) {
        self.key(key).push_str(value.as_str());
    }

    /// Adds a member with an integer value.
    pub fn integer(&mut self, key: &str, value: i64) {
        self.key(key).push_str(&value.to_string());
    }

    /// Adds a member that is null.
    pub fn null(&mut self, key: &str) {
        self.key(key).push_str("null");
    }

    /// Adds a member that is true or false.
    pub fn boolean(&mut self, key: &str, value: bool) {
        self.key(key).push_str(if value { "true" } else { "false" });
    }

    /// Adds a member whose value is an array of these.
    pub fn array<'a>(&mut self, key: &str, elements: impl Iterator<Item = Json<'a>>) {
        push_array(elements, self.key(key));
    }

    /// Ends the object.
    pub fn finish(mut self) -> JsonText {
        self.text.push('}');
        JsonText::from_scanned(self.text)
    }

    /// Writes a key and returns the text, to which the value is to be added.
    fn key(&mut self, key: &str) -> &mut String {
        self.separate();
        push_quoted(key, &mut self.text);
        self.text.push(':');
        &mut self.text
    }

    fn separate(&mut self) {
        if self.text.len() > 1 {
            self.text.push(',');
        }
    }
}
