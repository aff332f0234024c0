//! Prompts and answers for people. Their content is shown as text, and nothing that they refer to is fetched.

use serde_json::{Map, Value};

/// Characters of one text.
const CHARS_MAX: usize = 50_000;

/// Longer bodies are not parsed for a page, only downloaded.
const BYTES_MAX: usize = 1 << 20;

/// Settings, and choices of an answer.
const ITEMS_MAX: usize = 50;

/// Messages of a prompt: the first and the last half of them.
const MESSAGES_MAX: usize = 200;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Prompt {
    pub model: String,
    pub messages: Vec<Message>,
    /// All other members, as `name: value`.
    pub settings: Vec<(String, String)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Message {
    pub role: String,
    pub text: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Answer {
    /// For each choice, why it ended and its text.
    Completion(Vec<Message>),
    Embeddings(Vec<String>),
    Failure {
        code: String,
        message: String,
    },
}

impl Prompt {
    pub(crate) fn read(body: &[u8]) -> Self {
        if body.len() > BYTES_MAX {
            return Self { messages: vec![too_long(body.len())], ..Self::default() };
        }
        let Ok(Value::Object(mut fields)) = serde_json::from_slice(body) else { return Self::default() };
        let model = fields.shift_remove("model").map_or_else(String::new, |model| plain(&model));
        let messages = match fields.shift_remove("messages") {
            Some(Value::Array(messages)) => shown(&messages),
            _ => texts(&mut fields),
        };
        let settings =
            fields.iter().take(ITEMS_MAX).map(|(name, value)| (cut(name), cut(&plain(value)))).collect();
        Self { model, messages, settings }
    }
}

impl Answer {
    pub(crate) fn read(result: &[u8]) -> Self {
        if result.len() > BYTES_MAX {
            return Self::Completion(vec![too_long(result.len())]);
        }
        let result: Value = serde_json::from_slice(result).unwrap_or_default();
        if let Some(error) = result.get("error") {
            let text = |key: &str| error.get(key).map_or_else(String::new, plain);
            return Self::Failure { code: text("code"), message: cut(&text("message")) };
        }
        let list =
            |key: &str| result.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let choice = |choice: &Value| Message {
            role: choice.get("finish_reason").map_or_else(String::new, plain),
            text: cut(&match choice.get("text") {
                Some(text) => plain(text),
                None => text_of(choice.get("message").unwrap_or(&Value::Null)),
            }),
        };
        let vector = |element: &Value| cut(&element.get("embedding").map_or_else(String::new, plain));
        match list("data") {
            [] => Self::Completion(list("choices").iter().take(ITEMS_MAX).map(choice).collect()),
            elements => Self::Embeddings(elements.iter().take(ITEMS_MAX).map(vector).collect()),
        }
    }
}

/// The texts, or tokens, of a body without a conversation, each as a message named after its member.
fn texts(fields: &mut Map<String, Value>) -> Vec<Message> {
    let Some((role, inputs)) =
        ["prompt", "input"].into_iter().find_map(|key| Some((key, fields.shift_remove(key)?)))
    else {
        return Vec::new();
    };
    let read = |text: &Value| Message { role: role.to_owned(), text: cut(&plain(text)) };
    match &inputs {
        Value::Array(inputs) if !inputs.iter().any(Value::is_number) => {
            inputs.iter().take(MESSAGES_MAX).map(read).collect()
        }
        input => vec![read(input)],
    }
}

fn too_long(bytes: usize) -> Message {
    let text = format!("{bytes} bytes are too many for a page: download the request to read them");
    Message { role: "…".to_owned(), text }
}

fn shown(messages: &[Value]) -> Vec<Message> {
    let read = |message: &Value| Message {
        role: message.get("role").map_or_else(String::new, plain),
        text: cut(&text_of(message)),
    };
    if messages.len() <= MESSAGES_MAX {
        return messages.iter().map(read).collect();
    }
    let half = MESSAGES_MAX / 2;
    let left_out = messages.len() - MESSAGES_MAX;
    let gap = Message {
        role: "…".to_owned(),
        text: format!("{left_out} messages between these are not shown here"),
    };
    let (first, last) = (&messages[..half], &messages[messages.len() - half..]);
    first.iter().map(read).chain([gap]).chain(last.iter().map(read)).collect()
}

/// The text of a message; the type of a part that is not text.
fn text_of(message: &Value) -> String {
    let mut parts = Vec::new();
    for key in ["reasoning_content", "content", "refusal"] {
        match message.get(key) {
            None | Some(Value::Null) => {}
            Some(Value::Array(content)) => parts.extend(content.iter().map(part)),
            Some(content) => parts.push(plain(content)),
        }
    }
    for key in ["tool_calls", "function_call"] {
        parts.extend(message.get(key).filter(|calls| !calls.is_null()).map(Value::to_string));
    }
    parts.join("\n")
}

fn part(part: &Value) -> String {
    match part.get("text") {
        Some(text) => plain(text),
        None => format!("[{}]", part.get("type").map_or_else(|| "something else".to_owned(), plain)),
    }
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(CHARS_MAX) {
        Some((end, _)) => format!("{}… (cut here: the whole of it is in the download)", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_is_told_as_who_says_what() {
        let body = r#"{"model":"m","messages":[{"role":"system","content":"Be kind."},{"role":"user","content":[
            {"type":"text","text":"Look:"},{"type":"image_url","image_url":{"url":"data:x"}}]},
            {"role":"assistant","content":null,"tool_calls":[{"id":1}]}],"temperature":0.5,"stop":"x","seed":1}"#;
        let prompt = Prompt::read(body.as_bytes());
        let told: Vec<_> = prompt.messages.iter().map(|it| (&*it.role, &*it.text)).collect();
        assert_eq!(
            told,
            [("system", "Be kind."), ("user", "Look:\n[image_url]"), ("assistant", r#"[{"id":1}]"#)]
        );
        assert_eq!(prompt.model, "m");
        let names: Vec<_> = prompt.settings.iter().map(|(name, _)| &**name).collect();
        assert_eq!(names, ["temperature", "stop", "seed"], "in the order of the body");
    }

    #[test]
    fn texts_and_vectors_are_told_as_they_are() {
        let told = |body: &str| -> Vec<(String, String)> {
            Prompt::read(body.as_bytes()).messages.into_iter().map(|it| (it.role, it.text)).collect()
        };
        let pair = |role: &str, text: &str| (role.to_owned(), text.to_owned());
        assert_eq!(told(r#"{"prompt":"once","n":2}"#), [pair("prompt", "once")]);
        assert_eq!(told(r#"{"input":["a","b"]}"#), [pair("input", "a"), pair("input", "b")]);
        assert_eq!(told(r#"{"input":[1,2]}"#), [pair("input", "[1,2]")]);
        let written = Message { role: "stop".to_owned(), text: " upon".to_owned() };
        let completion = br#"{"choices":[{"finish_reason":"stop","text":" upon"}]}"#;
        assert_eq!(Answer::read(completion), Answer::Completion(vec![written]));
        let list =
            br#"{"object":"list","data":[{"object":"embedding","embedding":[0.5]},{"embedding":"AA=="}]}"#;
        assert_eq!(Answer::read(list), Answer::Embeddings(vec!["[0.5]".to_owned(), "AA==".to_owned()]));
    }

    #[test]
    fn an_answer_is_what_was_said_or_why_nothing_was() {
        let answer = Answer::read(br#"{"choices":[{"finish_reason":"stop","message":{"content":"Hello"}}]}"#);
        let message = Message { role: "stop".to_owned(), text: "Hello".to_owned() };
        assert_eq!(answer, Answer::Completion(vec![message]));
        let answer = Answer::read(br#"{"error":{"code":"expired","message":"too late"}}"#);
        assert_eq!(answer, Answer::Failure { code: "expired".to_owned(), message: "too late".to_owned() });
        for broken in [&b"[]"[..], b"", b"{\"choices\":7}"] {
            assert_eq!(Answer::read(broken), Answer::Completion(Vec::new()));
            assert_eq!(Prompt::read(broken).messages, []);
        }
    }

    #[test]
    fn what_is_very_long_is_cut() {
        let of = |messages: usize, chars: usize| {
            let message = serde_json::json!({"role": "user", "content": "é".repeat(chars)});
            let body = serde_json::json!({"messages": vec![message; messages], "stop": vec!["x"; 3]});
            Prompt::read(body.to_string().as_bytes())
        };
        let many = of(300, 10);
        assert_eq!(many.messages.len(), MESSAGES_MAX + 1);
        assert!(many.messages[100].text.starts_with("100 messages"));
        let long = of(1, 60_000);
        assert!(long.messages[0].text.chars().count() < CHARS_MAX + 100);
        let endless = of(1, 600_000);
        assert!(endless.messages[0].text.contains("too many for a page") && endless.settings.is_empty());
        let Answer::Completion(answer) = Answer::read(&vec![b' '; BYTES_MAX + 1]) else {
            panic!("a failure")
        };
        assert!(answer[0].text.contains("too many for a page"));
    }
}
