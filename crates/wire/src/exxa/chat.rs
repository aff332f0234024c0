//! Converts request bodies to chat completions: content parts of this dialect become OpenAI's, and `response_schema` becomes
//! `response_format`.

use overnight_domain::faults::{Faults, codes};
use overnight_domain::json::{Json, JsonText, Kind, Member, ObjectWriter, minimize};

const BODY: &str = "request_body";
const SCHEMA: &str = "response_schema";

/// The depth of a schema within the body.
const SCHEMA_DEPTH: u32 = 4;

/// Converts a body to the native Create Request. Values of an unexpected form stay unchanged, because the native checks report them. Fails
/// with the faults of `response_schema`, which nothing else reads.
pub fn to_native(body: JsonText) -> Result<JsonText, Faults> {
    let Some(members) = body.as_json().members() else { return Ok(body) };
    let mut writer = ObjectWriter::with_capacity(body.as_str().len() + 64);
    for Member { raw_key, value, .. } in members {
        if raw_key.decode_string().is_some_and(|key| key == BODY) {
            writer.copy(raw_key, chat_body(value)?.as_json());
        } else {
            writer.copy(raw_key, value);
        }
    }
    Ok(writer.finish())
}

fn chat_body(body: Json<'_>) -> Result<JsonText, Faults> {
    let Some(members) = body.members() else { return Ok(body.to_text()) };
    let has_format = body.to_object().is_some_and(|body| body.get_some("response_format").is_some());
    let mut writer = ObjectWriter::with_capacity(body.as_str().len() + 64);
    for member in members {
        match &*member.key() {
            "messages" => copy_each(member, &mut writer, message),
            SCHEMA if member.value.is_null() => {}
            SCHEMA if has_format => {
                return Err(fault(codes::CONFLICT, "and response_format exclude each other"));
            }
            SCHEMA => writer.json("response_format", response_format(member.value)?.as_json()),
            _ => writer.copy(member.raw_key, member.value),
        }
    }
    Ok(writer.finish())
}

/// Copies a member. If its value is an array, each element is converted by `read`.
fn copy_each(member: Member<'_>, writer: &mut ObjectWriter, read: fn(Json<'_>) -> JsonText) {
    match member.value.elements() {
        Some(elements) => {
            let elements: Vec<JsonText> = elements.map(read).collect();
            writer.array(&member.key(), elements.iter().map(JsonText::as_json));
        }
        None => writer.copy(member.raw_key, member.value),
    }
}

fn message(message: Json<'_>) -> JsonText {
    rewritten(message, |member, writer| match &*member.key() {
        "content" => copy_each(member, writer, part),
        _ => writer.copy(member.raw_key, member.value),
    })
}

/// Converts `{"type": "text", "content": …}` to a part with `text`, and `{"type": "image", "url": …}` to an `image_url`.
fn part(part: Json<'_>) -> JsonText {
    let kind = part.to_object().and_then(|object| object.get("type")?.decode_string());
    match kind.as_deref() {
        Some("text") => rewritten(part, |member, writer| match &*member.key() {
            "content" => writer.json("text", member.value),
            _ => writer.copy(member.raw_key, member.value),
        }),
        Some("image") => rewritten(part, |member, writer| match &*member.key() {
            "type" => writer.string("type", "image_url"),
            "url" => {
                let mut image = ObjectWriter::with_capacity(member.value.as_str().len() + 8);
                image.copy(member.raw_key, member.value);
                writer.json("image_url", image.finish().as_json());
            }
            _ => writer.copy(member.raw_key, member.value),
        }),
        _ => part.to_text(),
    }
}

/// An object whose members `write` writes; any other value unchanged.
fn rewritten(value: Json<'_>, write: impl Fn(Member<'_>, &mut ObjectWriter)) -> JsonText {
    let Some(members) = value.members() else { return value.to_text() };
    let mut writer = ObjectWriter::with_capacity(value.as_str().len() + 16);
    members.for_each(|member| write(member, &mut writer));
    writer.finish()
}

/// The format for a schema, which is a JSON text in a string.
fn response_format(schema: Json<'_>) -> Result<JsonText, Faults> {
    let Some(text) = schema.decode_string() else {
        return Err(fault(codes::WRONG_TYPE, "must be a string that holds a JSON schema"));
    };
    let schema = minimize(text.as_bytes(), SCHEMA_DEPTH)
        .map_err(|error| fault(error.code, &format!("must hold a JSON schema: {error}")))?;
    if schema.as_json().kind() != Kind::Object {
        return Err(fault(codes::WRONG_TYPE, "must hold a JSON schema that is an object"));
    }
    let mut inner = ObjectWriter::with_capacity(text.len() + 64);
    inner.string("name", SCHEMA);
    inner.json("schema", schema.as_json());
    let mut format = ObjectWriter::with_capacity(text.len() + 128);
    format.string("type", "json_schema");
    format.json("json_schema", inner.finish().as_json());
    Ok(format.finish())
}

fn fault(code: &'static str, message: &str) -> Faults {
    let mut faults = Faults::default();
    faults.push(format_args!("{BODY}.{SCHEMA}"), code, message);
    faults
}
