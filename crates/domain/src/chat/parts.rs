//! Content parts: text, and media that an engine might fetch for its sender.

use crate::bodies::{Path, Review};
use crate::faults::codes;
use crate::json::{Json, Kind, RawObject};

/// The types of parts, which are also the keys of their payloads.
const TYPES: [&str; 7] = ["text", "refusal", "image_url", "video_url", "audio_url", "input_audio", "file"];

/// Other allowed members of a part. Anything else might be a second payload, or the name of a cached one (`uuid`, `content_hash`) that
/// another account sent.
const BESIDE_PAYLOAD: [&str; 2] = ["cache_control", "detail"];

/// How a payload carries media: the member with the data, and the members allowed beside it.
struct Media {
    source: &'static str,
    beside: &'static str,
    /// The beginning of a URL with data. An image is priced as one, so it must be one.
    data: &'static str,
    /// Whether the data may be bare base64, and not only a URL.
    bare: bool,
}

const URL: Media = Media { source: "url", beside: "detail", data: "data:", bare: false };
const IMAGE: Media = Media { data: "data:image/", ..URL };
const AUDIO: Media = Media { source: "data", beside: "format", data: "data:", bare: true };
const FILE: Media = Media { source: "file_data", beside: "filename", data: "data:", bare: true };

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct MediaTotals {
    pub(super) count: usize,
    /// Bytes of image data: images are priced by the image, not by the byte.
    pub(super) image_data_bytes: usize,
}

/// Checks one content part and counts its media.
pub(super) fn check_part(review: &mut Review<'_>, part: Json<'_>, path: &Path<'_>, totals: &mut MediaTotals) {
    let Some(part) = review.object(part, path) else { return };
    let Some(kind) = review.one_of(&part, path, "type", &TYPES) else { return };
    for (key, value) in part.members() {
        let is_known = key == "type" || key == kind || BESIDE_PAYLOAD.contains(&key.as_ref());
        if !is_known && !value.is_null() {
            let message = format_args!("has no place in a part of type {kind}");
            review.fault(&path.member(key), codes::NOT_ALLOWED, message);
        }
    }
    let Some(payload) = review.required(&part, path, kind) else { return };
    let path = path.member(kind);
    let media = match kind {
        "text" | "refusal" => {
            review.expect_string(payload, &path);
            return;
        }
        "input_audio" => AUDIO,
        "file" => FILE,
        "image_url" => IMAGE,
        _ => URL,
    };
    totals.count += 1;
    let inline_bytes = check_media(review, payload, &path, &media);
    if kind == "image_url" {
        totals.image_data_bytes += inline_bytes;
    }
}

/// Returns the bytes of data in a media payload.
fn check_media(review: &mut Review<'_>, payload: Json<'_>, path: &Path<'_>, media: &Media) -> usize {
    if !media.bare && payload.kind() == Kind::String {
        return check_source(review, payload, path, media);
    }
    let Some(object) = review.object(payload, path) else { return 0 };
    check_members(review, &object, path, media);
    let Some(source) = review.required(&object, path, media.source) else { return 0 };
    check_source(review, source, &path.member(media.source), media)
}

fn check_members(review: &mut Review<'_>, object: &RawObject<'_>, path: &Path<'_>, media: &Media) {
    for (key, value) in object.members() {
        if key != media.source && key != media.beside && !value.is_null() {
            let message = format_args!("is not passed on: only {} and {} are", media.source, media.beside);
            review.fault(&path.member(key), codes::NOT_ALLOWED, message);
        }
    }
}

/// Accepts a source by what it is, never by what it is not: engines read other schemes, `file:` among them.
fn check_source(review: &mut Review<'_>, source: Json<'_>, path: &Path<'_>, media: &Media) -> usize {
    if !review.expect_string(source, path) {
        return 0;
    }
    let text = source.decode_string().unwrap_or_default();
    if text.starts_with(media.data) || (media.bare && !text.contains(':')) {
        return source.as_str().len();
    }
    let is_remote = text.starts_with("https://") || text.starts_with("http://");
    if !is_remote {
        review.fault(path, codes::NOT_ALLOWED, format_args!("must be a URL that begins with {}", media.data));
    } else if !review.limits.remote_media {
        review.fault(
            path,
            codes::NOT_ALLOWED,
            format_args!("must be a URL that begins with {}: remote media is not fetched here", media.data),
        );
    }
    0
}
