//! The keys of JSON objects in written order, and members by path.

use std::fmt;

use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde_json::{Deserializer, Value};

struct Keys;

impl<'de> Visitor<'de> for Keys {
    type Value = Vec<String>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Vec<String>, A::Error> {
        let mut keys = Vec::new();
        while let Some((key, IgnoredAny)) = map.next_entry()? {
            keys.push(key);
        }
        Ok(keys)
    }
}

/// The keys of the object in `text`, which may be in an array of one, in order and separated by spaces.
pub(crate) fn keys(text: &str) -> String {
    let object = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    let mut from = Deserializer::from_str(object);
    serde::Deserializer::deserialize_map(&mut from, Keys).expect("an object").join(" ")
}

/// Checks members of `value` by their paths, such as `counts.failed` or `output.0.text`. An absent member is null.
#[track_caller]
pub(crate) fn check_json(value: &Value, expected: &Value) {
    for (path, expected) in expected.as_object().expect("members") {
        let pointer = format!("/{}", path.replace('.', "/"));
        assert_eq!(value.pointer(&pointer).unwrap_or(&Value::Null), expected, "{path} of {value}");
    }
}
