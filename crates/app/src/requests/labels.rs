//! Labels of requests for people: the `custom_id` and other metadata.

use overnight_domain::json::Json;

/// The metadata key of a request's own name, in every dialect.
const CUSTOM_ID: &str = "custom_id";

/// The number of other members shown.
const PAIRS_MAX: usize = 4;

/// The maximum characters shown of a name or value.
const CHARS_MAX: usize = 64;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Label {
    pub custom_id: Option<String>,
    /// The first 4 other members of its metadata, as name and value.
    pub pairs: Vec<(String, String)>,
}

impl Label {
    /// Reads stored metadata.
    pub fn read(metadata: &[u8]) -> Self {
        let mut label = Self::default();
        let members = Json::from_stored(metadata).ok().and_then(Json::members);
        for member in members.into_iter().flatten() {
            let value = member.value.decode_string();
            let value = cut(value.as_deref().unwrap_or(member.value.as_str()));
            let key = member.key();
            if key == CUSTOM_ID {
                label.custom_id = Some(value).filter(|id| !id.is_empty());
            } else if label.pairs.len() < PAIRS_MAX {
                label.pairs.push((cut(&key), value));
            }
        }
        label
    }
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(CHARS_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_known_by_its_custom_id_and_the_first_of_its_other_metadata() {
        let label =
            Label::read(br#"{"row":7,"custom_id":"item-17","a":{"b":[1]},"c":"\u00e9","d":true,"e":null}"#);
        assert_eq!(label.custom_id.as_deref(), Some("item-17"));
        let pairs: Vec<_> = label.pairs.iter().map(|(key, value)| (&**key, &**value)).collect();
        assert_eq!(pairs, [("row", "7"), ("a", r#"{"b":[1]}"#), ("c", "é"), ("d", "true")]);
        assert_eq!(Label::read(b"[]"), Label::default());
        let long = format!(r#"{{"custom_id":"{}"}}"#, "é".repeat(CHARS_MAX + 1));
        let id = Label::read(long.as_bytes()).custom_id.expect("an id");
        assert!(id.ends_with("é…") && id.chars().count() == CHARS_MAX + 1);
    }
}
