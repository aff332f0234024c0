//! Lines of JSON: written lines are complete and read back unchanged; reading does not depend on how lines arrive in parts.

use bytes::{Bytes, BytesMut};
use overnight_domain::endpoints::Endpoint;
use overnight_domain::json::{Json, JsonText, Kind, array, minimize, quote};
use overnight_domain::pieces::{PIECE_BYTES, PIECE_LINES, first_lines, whole_lines};
use overnight_domain::records::RequestRecord;
use overnight_wire::anthropic::elements::{Elements, ElementsError};
use overnight_wire::native::bulk::{self, Answered, BulkLine, LineDigest};
use overnight_wire::native::errors::{ErrorBody, ErrorDetail};
use overnight_wire::native::requests::{self, FullRequest};
use overnight_wire::{anthropic, exxa, openai};

use crate::oracles::{assert_line, parts, read};
use crate::records;

/// Bytes of a batch's element in these checks.
const ELEMENT_BYTES_MAX: usize = 64;

/// The input is metadata in its first line, a body in its second, and text. The whole is also read as lines of a file, and as a batch.
pub fn check(input: &[u8]) {
    let [metadata, body, text] = parts(input);
    let text = String::from_utf8_lossy(text);
    let (metadata, body) = (object(metadata), object(body));
    for state in [records::FAILED, records::STATES[input.len() % records::STATES.len()]] {
        let mut request = records::request(state, Endpoint::ChatCompletions, json(&body));
        request.client.metadata = metadata.as_ref().map(|metadata| Bytes::from(metadata.as_str().to_owned()));
        request.client.webhook = (!text.is_empty()).then(|| text.clone().into_owned());
        request.attempts = vec![records::attempt(&text)];
        request.result = state.ended_at().map(|_| failure(&text));
        check_native(&request, &text);
        check_dialects(&request);
    }
    check_bulk(&text);
    check_pieces(input);
    check_elements(input);
}

fn object(text: &[u8]) -> Option<JsonText> {
    minimize(text, 1).ok().filter(|text| text.as_json().kind() == Kind::Object)
}

fn json(text: &Option<JsonText>) -> Json<'_> {
    text.as_ref().map_or(Json::EMPTY_OBJECT, JsonText::as_json)
}

/// The result of a request that failed with this message.
fn failure(words: &str) -> Bytes {
    let words = quote(words);
    format!(r#"{{"error":{{"message":{words},"type":"server_error","code":{words},"param":null}}}}"#).into()
}

fn check_native(request: &RequestRecord, text: &str) {
    let mut line = Vec::new();
    requests::write_full(request, &mut line);
    assert_line(&line);
    let full: FullRequest = serde_json::from_slice(&line).expect("a full record");
    assert_eq!(full.id, request.summary.id.to_string());
    assert_eq!(full.status, request.summary.state.status());
    assert_eq!(full.request_body.get().as_bytes(), request.body);
    assert_eq!(full.metadata.as_ref().map(|it| it.get().as_bytes()), request.client.metadata.as_deref());
    assert_eq!(full.webhook, request.client.webhook);
    assert_eq!(full.result_body.as_ref().map(|it| it.get().as_bytes()), request.result.as_deref());
    let [attempt] = &*full.attempts else { panic!("{:?}", full.attempts) };
    assert!(text.starts_with(&attempt.message) && attempt.message.len() <= 1_024);
    let again = serde_json::to_vec(&full).expect("JSON");
    assert_eq!(read(&again), read(&line));
    line.clear();
    requests::write_status(&request.summary, &mut line);
    assert_line(&line);
    line.clear();
    requests::write_create(request, &mut line);
    assert_line(&line);
}

fn check_dialects(request: &RequestRecord) {
    let writers: [fn(&RequestRecord, &mut Vec<u8>); 7] = [
        exxa::requests::write_full,
        exxa::requests::write_result,
        openai::outputs::write_error,
        openai::outputs::write_input,
        openai::outputs::write_response_answer,
        openai::responses::write_response,
        anthropic::results::write_result,
    ];
    let custom_id = request.client.metadata.as_deref().map(read).and_then(|metadata| {
        let custom_id = metadata.get("custom_id")?.as_str().map(str::to_owned);
        custom_id.filter(|_| !is_twice(request.client.metadata.as_deref(), "custom_id"))
    });
    for write in writers {
        let mut line = Vec::new();
        write(request, &mut line);
        let told = assert_line(&line);
        if let (Some(told), Some(custom_id)) = (told.get("custom_id"), &custom_id) {
            assert_eq!(told, custom_id.as_str(), "another custom_id");
        }
    }
}

fn is_twice(text: Option<&[u8]>, key: &str) -> bool {
    let object = text.and_then(|text| Json::from_stored(text).ok()?.to_object());
    object.is_some_and(|object| object.duplicate_keys().contains(&key))
}

/// The answers to the lines of a bulk create, with their line breaks.
fn check_bulk(text: &str) {
    let mut lines = Vec::new();
    let sha256 = &LineDigest::of(text.as_bytes());
    bulk::write_created(Answered { line: 7, sha256 }, &records::summary(records::STATES[0]), &mut lines);
    let detail = ErrorDetail {
        param: Some(text.to_owned()),
        id: None,
        message: text.to_owned(),
        code: text.to_owned(),
    };
    let refused = ErrorBody {
        message: text.to_owned(),
        kind: "invalid_request_error".to_owned(),
        code: "invalid_input".to_owned(),
        param: None,
        details: vec![detail],
        details_total: None,
        request_id: "call_1".to_owned(),
    };
    bulk::write_refused(Answered { line: u64::MAX, sha256 }, &refused, &mut lines);
    let told: Vec<&[u8]> = lines.split_inclusive(|byte| *byte == b'\n').collect();
    let [created, other] = &*told else { panic!("{} lines", told.len()) };
    let (created, other) = (created.strip_suffix(b"\n"), other.strip_suffix(b"\n"));
    let read =
        |line: Option<&[u8]>| serde_json::from_slice(line.expect("a line break")).expect("a bulk line");
    let BulkLine::Created(created) = read(created) else { panic!("it was created") };
    assert_eq!((created.line, created.request.id), (7, records::summary(records::STATES[0]).id.to_string()));
    let BulkLine::Refused(other) = read(other) else { panic!("it was refused") };
    assert_eq!((&other.sha256, other.error), (sha256, refused));
}

/// Parts of a text, with lengths drawn from the text itself.
fn chunks(text: &[u8], seed: usize) -> impl Iterator<Item = &[u8]> {
    let mut rest = text;
    let mut state = seed;
    std::iter::from_fn(move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let length = match seed {
            0 => rest.len(),
            1 => 1,
            _ => 1 + (state >> 33) % 23,
        };
        let (chunk, behind) = rest.split_at(length.min(rest.len()));
        rest = behind;
        (!chunk.is_empty()).then_some(chunk)
    })
}

/// A file is stored in pieces of whole lines.
fn check_pieces(text: &[u8]) {
    let expected: Vec<&[u8]> = text.split_inclusive(|byte| *byte == b'\n').collect();
    for seed in 0..3 {
        let (mut rest, mut pieces) = (BytesMut::new(), Vec::new());
        for chunk in chunks(text, seed) {
            rest.extend_from_slice(chunk);
            if !chunk.contains(&b'\n') {
                continue;
            }
            while let Some(length) = whole_lines(&rest) {
                pieces.push(rest.split_to(length).freeze());
            }
        }
        while !rest.is_empty() {
            let length = first_lines(&rest).unwrap_or(rest.len());
            pieces.push(rest.split_to(length).freeze());
        }
        let lines = pieces.iter().flat_map(|piece| piece.split_inclusive(|byte| *byte == b'\n'));
        assert!(lines.eq(expected.iter().copied()), "other lines in chunks of {seed}");
        for piece in &pieces {
            let count = piece.split_inclusive(|byte| *byte == b'\n').count();
            assert!((1..=PIECE_LINES).contains(&count), "{count} lines in a piece");
            assert!(piece.len() <= PIECE_BYTES || count == 1, "{} bytes in a piece", piece.len());
        }
    }
}

/// A batch's elements, or why it is invalid.
fn elements<'t>(parts: impl Iterator<Item = &'t [u8]>) -> Result<Vec<Vec<u8>>, ElementsError> {
    let (mut elements, mut found) = (Elements::new(ELEMENT_BYTES_MAX), Vec::new());
    for mut chunk in parts {
        while !chunk.is_empty() {
            let (element, length) = elements.read(chunk)?;
            assert!(element.is_some() || length == chunk.len(), "it stopped before the end");
            assert!(elements.pending_bytes() <= ELEMENT_BYTES_MAX.max(257), "{}", elements.pending_bytes());
            found.extend(element);
            chunk = &chunk[length..];
        }
    }
    assert_eq!(elements.finish()?, found.len());
    Ok(found)
}

/// The body of a batch is read element by element.
fn check_elements(text: &[u8]) {
    let whole = elements(chunks(text, 0));
    for seed in 1..3 {
        assert_eq!(elements(chunks(text, seed)), whole, "in chunks of {seed}");
    }
    let read = minimize(text, 0).ok();
    match whole {
        Ok(found) => {
            let valid: Vec<JsonText> = found.iter().filter_map(|element| minimize(element, 2).ok()).collect();
            assert_eq!(
                read.is_some(),
                valid.len() == found.len(),
                "its elements are JSON, and it is none, or the other way"
            );
            if let Some(read) = read {
                let told = array(valid.iter().map(JsonText::as_json));
                assert_eq!(requests_of(read.as_json()).map(Json::as_str), Some(told.as_str()));
            }
        }
        Err(ElementsError::TooLong { .. }) => {}
        Err(ElementsError::Invalid(words)) => {
            assert!(words.len() <= 512 && !words.chars().any(char::is_control), "{words}");
            let requests = read.as_ref().and_then(|read| requests_of(read.as_json()));
            let has_long = requests.is_some_and(|it| it.elements().is_some_and(|mut it| it.any(is_long)));
            assert!(requests.is_none() || has_long, "refused, though it is a batch: {words}");
        }
    }
}

fn is_long(element: Json<'_>) -> bool {
    element.as_str().len() > ELEMENT_BYTES_MAX / 2
}

/// The array of a batch, if it is the batch's only member.
fn requests_of(batch: Json<'_>) -> Option<Json<'_>> {
    let batch = batch.to_object()?;
    let [(key, requests)] = batch.members() else { return None };
    Some(*requests).filter(|requests| key == "requests" && requests.kind() == Kind::Array)
}
