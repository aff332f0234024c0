//! Writing compact JSON from parts that are JSON already.

use super::{Json, JsonText};

/// `text` as a JSON string, quotes included.
pub fn quote(text: &str) -> String {
    serde_json::Value::from(text).to_string()
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
        self.write(raw_key.as_str(), value.as_str());
    }

    /// Adds a member with a string value.
    pub fn string(&mut self, key: &str, value: &str) {
        self.write(&quote(key), &quote(value));
    }

    /// Adds a member whose value is JSON already.
    pub fn json(&mut self, key: &str, value: Json<'_>) {
        self.write(&quote(key), value.as_str());
    }

    /// Adds a member with an integer value.
    pub fn integer(&mut self, key: &str, value: i64) {
        self.write(&quote(key), &value.to_string());
    }

    /// Adds a member that is null.
    pub fn null(&mut self, key: &str) {
        self.write(&quote(key), "null");
    }

    /// Adds a member that is true or false.
    pub fn boolean(&mut self, key: &str, value: bool) {
        self.write(&quote(key), if value { "true" } else { "false" });
    }

    /// Adds a member whose value is an array of these.
    pub fn array<'a>(&mut self, key: &str, elements: impl Iterator<Item = Json<'a>>) {
        self.write(&quote(key), "");
        push_array(elements, &mut self.text);
    }

    /// Ends the object.
    pub fn finish(mut self) -> JsonText {
        self.text.push('}');
        JsonText::from_scanned(self.text)
    }

    fn write(&mut self, key: &str, value: &str) {
        if self.text.len() > 1 {
            self.text.push(',');
        }
        self.text.push_str(key);
        self.text.push(':');
        self.text.push_str(value);
    }
}
