//! The turns of a conversation in OpenAI's form. Consecutive turns of one role become one, as Anthropic's API does.

use overnight_domain::json::{JsonText, ObjectWriter};

use super::parts::Parts;

#[derive(Default)]
pub(super) struct Turns {
    list: Vec<Turn>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    System,
    User,
    Assistant,
}

enum Turn {
    Said { role: Role, parts: Parts, calls: Vec<JsonText> },
    Result { call: String, text: String },
}

impl Turns {
    pub(super) fn say(&mut self, role: Role, parts: Parts, calls: Vec<JsonText>) {
        match self.list.last_mut() {
            Some(Turn::Said { role: last, parts: said, calls: called }) if *last == role => {
                said.append(parts);
                called.extend(calls);
            }
            _ => self.list.push(Turn::Said { role, parts, calls }),
        }
    }

    pub(super) fn result(&mut self, call: String, text: String) {
        self.list.push(Turn::Result { call, text });
    }

    pub(super) fn ends_with_assistant(&self) -> bool {
        matches!(self.list.last(), Some(Turn::Said { role: Role::Assistant, .. }))
    }

    /// The messages, and for each the origins of its parts.
    pub(super) fn write(self) -> (Vec<JsonText>, Vec<Vec<String>>) {
        self.list.into_iter().map(Turn::write).unzip()
    }
}

impl Turn {
    fn write(self) -> (JsonText, Vec<String>) {
        let mut writer = ObjectWriter::with_capacity(256);
        let origins = match self {
            Self::Said { role, parts, calls } => {
                writer.string("role", role.name());
                // Some engines refuse empty text beside calls.
                let origins = if parts.is_empty() && !calls.is_empty() {
                    writer.null("content");
                    Vec::new()
                } else {
                    parts.write(&mut writer)
                };
                if !calls.is_empty() {
                    writer.array("tool_calls", calls.iter().map(JsonText::as_json));
                }
                origins
            }
            Self::Result { call, text } => {
                writer.string("role", "tool");
                writer.string("tool_call_id", &call);
                writer.string("content", &text);
                Vec::new()
            }
        };
        (writer.finish(), origins)
    }
}

impl Role {
    const fn name(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Assistant => "assistant",
        }
    }
}
