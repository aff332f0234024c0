//! One line of a request's text, for lists that people read.

use crate::json::{Json, Piece};

/// The beginning of the user's last text in a stored body, on one line of at most `chars_max` characters, the last an ellipsis if some text
/// is omitted. For a body without messages, the first text of its `prompt` or `input`. `None` without a text.
pub fn excerpt(body: Json<'_>, chars_max: usize) -> Option<String> {
    let Some(messages) = body.members()?.find(|member| member.key() == "messages") else {
        let inputs =
            body.members()?.find(|member| matches!(member.key().as_ref(), "prompt" | "input"))?.value;
        let text = inputs.elements().map_or(Some(inputs), |mut texts| texts.next())?;
        let mut line = Line { text: String::new(), chars: 0, chars_max, is_parted: false };
        line.push(text);
        return Some(line.finish()).filter(|text| !text.is_empty());
    };
    let messages = messages.value;
    let last = messages.elements()?.filter(|message| says(*message, "role", "user")).last()?;
    let content = last.members()?.find(|member| member.key() == "content")?.value;
    let mut line = Line { text: String::new(), chars: 0, chars_max, is_parted: false };
    match content.elements() {
        None => line.push(content),
        Some(parts) => {
            for part in parts.filter(|part| says(*part, "type", "text")) {
                let text = part.members()?.find(|member| member.key() == "text")?.value;
                line.is_parted = true;
                line.push(text);
            }
        }
    }
    Some(line.finish()).filter(|text| !text.is_empty())
}

fn says(object: Json<'_>, key: &str, text: &str) -> bool {
    let found = object.members().and_then(|mut members| members.find(|member| member.key() == key));
    found.and_then(|member| member.value.decode_string()).is_some_and(|found| found == text)
}

/// Text on one line. It holds one character more than it may, to know whether some text is omitted.
struct Line {
    text: String,
    chars: usize,
    chars_max: usize,
    /// Whether white space followed the last character.
    is_parted: bool,
}

impl Line {
    fn push(&mut self, string: Json<'_>) {
        for piece in string.string_pieces().into_iter().flatten() {
            match piece {
                Piece::Plain(text) => text.chars().for_each(|character| self.push_char(character)),
                Piece::Escaped(character) => self.push_char(character),
            }
        }
    }

    fn push_char(&mut self, character: char) {
        if character.is_whitespace() || character.is_control() {
            self.is_parted = true;
            return;
        }
        if std::mem::take(&mut self.is_parted) && !self.text.is_empty() {
            self.put(' ');
        }
        self.put(character);
    }

    fn put(&mut self, character: char) {
        if self.chars <= self.chars_max {
            self.chars += 1;
            self.text.push(character);
        }
    }

    fn finish(self) -> String {
        if self.chars <= self.chars_max {
            return self.text;
        }
        let kept: String = self.text.chars().take(self.chars_max.saturating_sub(1)).collect();
        format!("{}…", kept.trim_end())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_messages_it_is_the_first_text() {
        for (body, expected) in [
            (r#"{"prompt":"once upon a time"}"#, Some("once upon a…")),
            (r#"{"model":"m","input":["one","two"]}"#, Some("one")),
            (r#"{"input":[1,2]}"#, None),
            (r#"{"input":[[1,2]]}"#, None),
            (r#"{"prompt":[]}"#, None),
            (r#"{"model":"m"}"#, None),
        ] {
            let said = excerpt(Json::from_stored(body.as_bytes()).unwrap(), 12);
            assert_eq!(said.as_deref(), expected, "{body}");
        }
    }

    #[test]
    fn it_is_the_last_thing_that_the_user_says_on_one_line() {
        let said = |messages: &str| {
            let body = format!(r#"{{"model":"m","messages":{messages}}}"#);
            excerpt(Json::from_stored(body.as_bytes()).unwrap(), 12)
        };
        for (messages, expected) in [
            (r#"[{"role":"user","content":"one"},{"role":"assistant","content":"two"}]"#, Some("one")),
            (r#"[{"role":"user","content":"one"},{"content":"two","role":"user"}]"#, Some("two")),
            (r#"[{"role":"user","content":"\n a\t\u0000  b\u00e9 "}]"#, Some("a bé")),
            (r#"[{"role":"user","content":"exactly a do"}]"#, Some("exactly a do")),
            (r#"[{"role":"user","content":"exactly a doz"}]"#, Some("exactly a d…")),
            (r#"[{"role":"user","content":"exactly a \ud83c\udf19ozen"}]"#, Some("exactly a 🌙…")),
            (
                r#"[{"role":"user","content":[{"type":"image_url"},{"type":"text","text":"a"},{"type":"text","text":"b"}]}]"#,
                Some("a b"),
            ),
            (r#"[{"role":"system","content":"one"}]"#, None),
            (r#"[{"role":"user","content":" "}]"#, None),
            (r#"[{"role":"user"}]"#, None),
            ("7", None),
            ("[7,[],{}]", None),
        ] {
            assert_eq!(said(messages).as_deref(), expected, "{messages}");
        }
    }
}
