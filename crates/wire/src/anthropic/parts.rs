//! The text and media of a message as OpenAI's content parts, in order.

use overnight_domain::json::{JsonText, ObjectWriter};

#[derive(Default)]
pub(super) struct Parts {
    list: Vec<Part>,
}

struct Part {
    says: Says,
    /// The path of the block from which it was made.
    origin: String,
}

enum Says {
    Text(String),
    Media(JsonText),
}

impl Parts {
    pub(super) fn text(&mut self, origin: &impl ToString, text: impl Into<String>) {
        self.list.push(Part { says: Says::Text(text.into()), origin: origin.to_string() });
    }

    pub(super) fn media(&mut self, origin: &impl ToString, part: JsonText) {
        self.list.push(Part { says: Says::Media(part), origin: origin.to_string() });
    }

    pub(super) fn append(&mut self, mut other: Self) {
        self.list.append(&mut other.list);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Splits into text and media.
    pub(super) fn split_media(self) -> (Self, Self) {
        let (text, media) = self.list.into_iter().partition(|part| matches!(part.says, Says::Text(_)));
        (Self { list: text }, Self { list: media })
    }

    /// The text with a line break between parts. Engines join text parts this way, and some do not accept parts.
    pub(super) fn join(&self) -> String {
        let texts: Vec<&str> = self
            .list
            .iter()
            .filter_map(|part| match &part.says {
                Says::Text(text) => Some(text.as_str()),
                Says::Media(_) => None,
            })
            .collect();
        texts.join("\n")
    }

    /// Writes `content`: a string if all parts are text, else parts. Returns the origins of the parts, in order.
    pub(super) fn write(self, writer: &mut ObjectWriter) -> Vec<String> {
        if self.list.iter().all(|part| matches!(part.says, Says::Text(_))) {
            writer.string("content", &self.join());
            return Vec::new();
        }
        let mut origins = Vec::with_capacity(self.list.len());
        let mut parts = Vec::with_capacity(self.list.len());
        for Part { says, origin } in self.list {
            origins.push(origin);
            parts.push(match says {
                Says::Text(text) => text_part(&text),
                Says::Media(part) => part,
            });
        }
        writer.array("content", parts.iter().map(JsonText::as_json));
        origins
    }
}

fn text_part(text: &str) -> JsonText {
    let mut writer = ObjectWriter::with_capacity(text.len() + 32);
    writer.string("type", "text");
    writer.string("text", text);
    writer.finish()
}

pub(super) fn media_part(kind: &str, payload: &JsonText) -> JsonText {
    let mut writer = ObjectWriter::with_capacity(payload.as_str().len() + 32);
    writer.string("type", kind);
    writer.json(kind, payload.as_json());
    writer.finish()
}
