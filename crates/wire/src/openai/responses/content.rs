//! The content of a message: parts of a response as parts of a chat completion.

use overnight_domain::faults::{Faults, Quoted, codes};
use overnight_domain::json::{Json, JsonText, Kind, ObjectWriter, RawObject, array};

use super::config::{of_type, type_of};

const TYPES: &str = "input_text, input_image, input_file, input_audio, output_text, refusal";

/// Converts content that is a string or parts. A single text part becomes a string, which every engine reads.
///
/// `None`, with a fault at `path`, if it is neither.
pub(super) fn read_content(content: Json<'_>, path: &str, faults: &mut Faults) -> Option<JsonText> {
    match (content.kind(), content.elements()) {
        (Kind::String, _) => Some(content.to_text()),
        (_, Some(parts)) => {
            let parts: Vec<Part<'_>> = parts
                .enumerate()
                .filter_map(|(index, part)| read_part(part, &format!("{path}[{index}]"), faults))
                .collect();
            Some(match parts.as_slice() {
                [Part::Text(text)] => text.to_text(),
                parts => array_of(parts),
            })
        }
        _ => {
            faults.push(path, codes::WRONG_TYPE, "must be a string or an array of parts");
            None
        }
    }
}

enum Part<'a> {
    Text(Json<'a>),
    /// Any other part, converted for a chat completion.
    Other(JsonText),
}

fn array_of(parts: &[Part<'_>]) -> JsonText {
    let parts: Vec<JsonText> = parts
        .iter()
        .map(|part| match part {
            Part::Text(text) => of_type("text", "text", *text),
            Part::Other(part) => part.clone(),
        })
        .collect();
    array(parts.iter().map(JsonText::as_json))
}

fn read_part<'a>(part: Json<'a>, path: &str, faults: &mut Faults) -> Option<Part<'a>> {
    let Some(object) = part.to_object() else {
        faults.push(path, codes::WRONG_TYPE, "must be a part of a message");
        return None;
    };
    match type_of(&object).as_deref() {
        Some("input_text" | "output_text" | "text") => text(&object, "text", path, faults).map(Part::Text),
        Some("refusal") => {
            let refusal = text(&object, "refusal", path, faults)?;
            Some(Part::Other(of_type("refusal", "refusal", refusal)))
        }
        Some("input_image") => media(&object, path, faults, &IMAGE),
        Some("input_file") => media(&object, path, faults, &FILE),
        Some("input_audio") => {
            let Some(audio) = object.get_some("input_audio") else {
                faults.push(format_args!("{path}.input_audio"), codes::MISSING, "is required");
                return None;
            };
            Some(Part::Other(of_type("input_audio", "input_audio", audio)))
        }
        kind => {
            let message = format_args!("must be one of {TYPES}, not '{}'", Quoted(kind.unwrap_or_default()));
            faults.push(format_args!("{path}.type"), codes::UNKNOWN_VALUE, message);
            None
        }
    }
}

fn text<'a>(object: &RawObject<'a>, key: &str, path: &str, faults: &mut Faults) -> Option<Json<'a>> {
    let text = object.get(key).filter(|text| text.kind() == Kind::String);
    if text.is_none() {
        faults.push(format_args!("{path}.{key}"), codes::WRONG_TYPE, "must be a string");
    }
    text
}

/// The form of a medium in a part of a response and in one of a chat completion.
struct Media {
    /// The member with the data, and its name in a chat completion.
    source: (&'static str, &'static str),
    /// An optional member beside it.
    beside: &'static str,
    /// The type of the part in a chat completion.
    kind: &'static str,
    /// Unsupported sources.
    refused: &'static [&'static str],
}

const IMAGE: Media =
    Media { source: ("image_url", "url"), beside: "detail", kind: "image_url", refused: &["file_id"] };
const FILE: Media = Media {
    source: ("file_data", "file_data"),
    beside: "filename",
    kind: "file",
    refused: &["file_id", "file_url"],
};

fn media<'a>(object: &RawObject<'a>, path: &str, faults: &mut Faults, media: &Media) -> Option<Part<'a>> {
    let (from, to) = media.source;
    for key in media.refused {
        if object.get_some(key).is_some() {
            let message = format_args!("is not supported: put the data into {from}");
            faults.push(format_args!("{path}.{key}"), codes::NOT_ALLOWED, message);
            return None;
        }
    }
    let data = text(object, from, path, faults)?;
    let mut payload = ObjectWriter::with_capacity(data.as_str().len() + 64);
    payload.json(to, data);
    if let Some(beside) = object.get_some(media.beside) {
        payload.json(media.beside, beside);
    }
    Some(Part::Other(of_type(media.kind, media.kind, payload.finish().as_json())))
}
