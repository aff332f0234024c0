//! The keys of JSON objects in the order they were written.

use std::fmt;

use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde_json::Deserializer;

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

/// The keys of the object that `text` holds, alone or in an array of one, in order and joined by spaces.
pub(crate) fn keys(text: &str) -> String {
    let object = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    let mut from = Deserializer::from_str(object);
    serde::Deserializer::deserialize_map(&mut from, Keys).expect("an object").join(" ")
}
