//! Checks the conversation and converts it for chat templates.

use minijinja::{Value, value::ValueKind};

use super::Refusal;

/// Turns each content into a string; other fields are unchanged.
pub(super) fn normalise(messages: Vec<Value>) -> Result<Vec<Value>, Refusal> {
    if messages.is_empty() {
        return Err(Refusal::of("messages", "There has to be at least one message."));
    }
    messages.into_iter().enumerate().map(|(index, message)| normalise_one(index, &message)).collect()
}

fn normalise_one(index: usize, message: &Value) -> Result<Value, Refusal> {
    let refuse = |field: &str, text: &str| Refusal::of(format!("messages[{index}]{field}"), text);
    if message.kind() != ValueKind::Map {
        return Err(refuse("", "A message is an object."));
    }
    let field = |name: &str| message.get_attr(name).unwrap_or_default();
    if field("role").as_str().is_none_or(str::is_empty) {
        return Err(refuse(".role", "A message has a role, a string."));
    }
    let content = field("content");
    let content = match content.kind() {
        ValueKind::String => content,
        ValueKind::None | ValueKind::Undefined if field("tool_calls").is_true() => Value::from(""),
        ValueKind::Seq => Value::from(join_parts(index, &content)?),
        _ => return Err(refuse(".content", "The content of a message is a string or a list of text parts.")),
    };
    let keys = message.try_iter().map_err(|_| refuse("", "A message is an object."))?;
    let others = keys.filter(|key| key.as_str() != Some("content"));
    let fields = others.map(|key| (key.clone(), message.get_item(&key).unwrap_or_default()));
    Ok(Value::from_pairs(fields.chain([(Value::from("content"), content)])))
}

fn join_parts(index: usize, parts: &Value) -> Result<String, Refusal> {
    let mut text = String::new();
    for (part_index, part) in parts.try_iter().into_iter().flatten().enumerate() {
        let field = |name: &str| part.get_attr(name).unwrap_or_default();
        let (kind, said) = (field("type"), field("text"));
        match (kind.as_str(), said.as_str()) {
            (Some("text"), Some(said)) => text.push_str(said),
            _ => {
                let param = format!("messages[{index}].content[{part_index}]");
                return Err(Refusal::of(
                    param,
                    "Only content parts of type text, with a text, are served here.",
                ));
            }
        }
    }
    Ok(text)
}
