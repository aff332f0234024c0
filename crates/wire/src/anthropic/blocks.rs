//! Content blocks with text, images, documents or search results.

use overnight_domain::faults::{Quoted, codes};
use overnight_domain::json::{Json, JsonText, Kind, ObjectWriter, RawObject};

use super::parts::{Parts, media_part};
use super::path::Path;
use super::review::{Review, kind_of};

const IMAGE_TYPES: [&str; 4] = ["image/jpeg", "image/png", "image/gif", "image/webp"];
const PDF: &str = "application/pdf";
const PLAIN: &str = "text/plain";

const NO_FILES: &str = "is not taken here: no file can be uploaded, so send its data as base64";

/// The name of a document without one.
const UNTITLED: &str = "document.pdf";

/// Reads `content` whose blocks may be of any kind in this file.
pub(super) fn read_content(review: &mut Review, content: Json<'_>, path: &Path<'_>, parts: &mut Parts) {
    match content.kind() {
        Kind::String => parts.text(path, content.decode_string().unwrap_or_default()),
        Kind::Array => {
            for (place, block) in content.elements().into_iter().flatten().enumerate() {
                read_block(review, block, &path.element(place), parts);
            }
        }
        _ => review.fault(path, codes::WRONG_TYPE, "must be a string or an array of content blocks"),
    }
}

/// Reads `content` that may be text only, as of a system prompt.
pub(super) fn read_text(review: &mut Review, content: Json<'_>, path: &Path<'_>, parts: &mut Parts) {
    for (place, block) in content.elements().into_iter().flatten().enumerate() {
        let kind = kind_of(block);
        if kind != "text" {
            let place = path.element(place);
            review.unknown_value(&place, "type", "text", &kind);
            return;
        }
    }
    read_content(review, content, path, parts);
}

pub(super) fn read_block(review: &mut Review, block: Json<'_>, path: &Path<'_>, parts: &mut Parts) {
    match &*kind_of(block) {
        "text" => {
            let known = ["type", "text", "cache_control", "citations"];
            let Some(object) = review.object(block, path, &known) else { return };
            if let Some(text) = review.string(&object, path, "text") {
                parts.text(path, text);
            }
        }
        "image" => {
            if let Some(part) = read_image(review, block, path) {
                parts.media(path, part);
            }
        }
        "document" => read_document(review, block, path, parts),
        "search_result" => read_search_result(review, block, path, parts),
        other => refuse_block(review, block, path, other),
    }
}

/// Reports a block that is not allowed at its position.
pub(super) fn refuse_block(review: &mut Review, block: Json<'_>, path: &Path<'_>, kind: &str) {
    if block.kind() != Kind::Object {
        review.fault(path, codes::WRONG_TYPE, "must be an object");
    } else if kind.is_empty() {
        review.fault(&path.member("type"), codes::MISSING, "is required");
    } else {
        let message =
            format_args!("must not be '{}' here: such blocks are not taken in this place", Quoted(kind));
        review.refuse(&path.member("type"), message);
    }
}

fn read_image(review: &mut Review, block: Json<'_>, path: &Path<'_>) -> Option<JsonText> {
    let object = review.object(block, path, &["type", "source", "cache_control"])?;
    let source = review.required(&object, path, "source")?;
    let path = path.member("source");
    let source = review.object(source, &path, &["type", "media_type", "data", "url", "file_id"])?;
    let url = match &*review.string(&source, &path, "type")? {
        "base64" => {
            let media_type = review.string(&source, &path, "media_type")?;
            if !IMAGE_TYPES.contains(&media_type.as_ref()) {
                review.unknown_value(
                    &path,
                    "media_type",
                    &format!("one of {}", IMAGE_TYPES.join(", ")),
                    &media_type,
                );
                return None;
            }
            data_url(&media_type, &review.string(&source, &path, "data")?)
        }
        "url" => review.string(&source, &path, "url")?.into_owned(),
        "file" => {
            review.refuse(&path, NO_FILES);
            return None;
        }
        other => {
            review.unknown_value(&path, "type", "base64 or url", other);
            return None;
        }
    };
    let mut image = ObjectWriter::with_capacity(url.len() + 16);
    image.string("url", &url);
    Some(media_part("image_url", &image.finish()))
}

fn data_url(media_type: &str, data: &str) -> String {
    let mut url = String::with_capacity(media_type.len() + data.len() + 16);
    url.push_str("data:");
    url.push_str(media_type);
    url.push_str(";base64,");
    url.push_str(data);
    url
}

fn read_document(review: &mut Review, block: Json<'_>, path: &Path<'_>, parts: &mut Parts) {
    let known = ["type", "source", "cache_control", "citations", "context", "title"];
    let Some(object) = review.object(block, path, &known) else { return };
    refuse_citations(review, &object, path);
    let title = review.optional_string(&object, path, "title").unwrap_or_default();
    let context = review.optional_string(&object, path, "context").unwrap_or_default();
    let Some(source) = review.required(&object, path, "source") else { return };
    let source_path = path.member("source");
    let known = ["type", "media_type", "data", "content", "url", "file_id"];
    let Some(source) = review.object(source, &source_path, &known) else { return };
    let Some(kind) = review.string(&source, &source_path, "type") else { return };
    for line in [&title, &context].into_iter().filter(|line| !line.is_empty()) {
        parts.text(path, line.as_ref());
    }
    match &*kind {
        "text" => {
            if let Some(data) = typed_data(review, &source, &source_path, PLAIN) {
                parts.text(path, data);
            }
        }
        "base64" => {
            if let Some(data) = typed_data(review, &source, &source_path, PDF) {
                let title = if title.is_empty() { UNTITLED } else { &title };
                parts.media(path, pdf(title, &data));
            }
        }
        "content" => {
            if let Some(content) = review.required(&source, &source_path, "content") {
                read_content(review, content, &source_path.member("content"), parts);
            }
        }
        "url" => review.refuse(&source_path, "is not taken here: send the document's data as base64"),
        "file" => review.refuse(&source_path, NO_FILES),
        other => review.unknown_value(&source_path, "type", "text, base64 or content", other),
    }
}

/// The data of a source, which must have this media type.
fn typed_data(
    review: &mut Review,
    source: &RawObject<'_>,
    path: &Path<'_>,
    media_type: &str,
) -> Option<String> {
    let found = review.string(source, path, "media_type")?;
    if found != media_type {
        review.unknown_value(path, "media_type", media_type, &found);
        return None;
    }
    review.string(source, path, "data").map(Into::into)
}

fn pdf(name: &str, data: &str) -> JsonText {
    let mut file = ObjectWriter::with_capacity(data.len() + name.len() + 80);
    file.string("filename", name);
    file.string("file_data", &data_url(PDF, data));
    media_part("file", &file.finish())
}

fn read_search_result(review: &mut Review, block: Json<'_>, path: &Path<'_>, parts: &mut Parts) {
    let known = ["type", "source", "title", "content", "cache_control", "citations"];
    let Some(object) = review.object(block, path, &known) else { return };
    refuse_citations(review, &object, path);
    for key in ["title", "source"] {
        if let Some(text) = review.string(&object, path, key) {
            parts.text(path, text);
        }
    }
    if let Some(content) = review.required(&object, path, "content") {
        read_text(review, content, &path.member("content"), parts);
    }
}

/// Answers have no citations, so a client that asks for them is refused.
fn refuse_citations(review: &mut Review, object: &RawObject<'_>, path: &Path<'_>) {
    let Some(citations) = object.get_some("citations") else { return };
    let path = path.member("citations");
    let Some(citations) = review.object(citations, &path, &["enabled"]) else { return };
    if review.flag(&citations, &path, "enabled") {
        review.refuse(&path.member("enabled"), "must be false: answers name no sources here");
    }
}
