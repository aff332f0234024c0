//! The output line of a run for each line of the prompts.

use std::borrow::Cow;
use std::collections::HashMap;

use overnight_client::ErrorBody;
use overnight_wire::native::requests::CREATE_MEMBERS;
use serde::{Deserialize, Serialize, Serializer as _};
use serde_json::json;
use serde_json::value::RawValue;

use crate::prompts::Shape;

#[derive(Debug, Deserialize)]
pub(super) struct Record<'a> {
    #[serde(borrow)]
    pub(super) id: Cow<'a, str>,
    #[serde(borrow)]
    pub(super) status: Cow<'a, str>,
    #[serde(borrow)]
    metadata: Option<&'a RawValue>,
    #[serde(borrow)]
    result_body: Option<&'a RawValue>,
    /// Absent if there are no warnings.
    #[serde(borrow)]
    pub(super) warnings: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Failed<'a> {
    #[serde(borrow)]
    error: Failure<'a>,
}

#[derive(Serialize, Deserialize)]
struct Failure<'a> {
    #[serde(borrow)]
    code: Cow<'a, str>,
    #[serde(borrow)]
    message: Cow<'a, str>,
}

/// Members of an OpenAI batch line that the request's metadata keeps.
#[derive(Deserialize)]
struct Kept<'a> {
    #[serde(borrow)]
    custom_id: &'a RawValue,
}

#[derive(Serialize)]
struct OpenAiLine<'a> {
    id: Option<&'a str>,
    custom_id: Option<&'a RawValue>,
    response: Option<OpenAiResponse<'a>>,
    error: Option<Failure<'a>>,
}

#[derive(Serialize)]
struct OpenAiResponse<'a> {
    status_code: u16,
    request_id: &'a str,
    body: &'a RawValue,
}

/// The line for an ended request, from its full record.
pub(super) fn of_record<'a>(
    shape: Shape,
    text: &'a [u8],
    record: &Record<'a>,
) -> serde_json::Result<Cow<'a, [u8]>> {
    if shape != Shape::OpenAiBatch {
        return Ok(Cow::Borrowed(text));
    }
    let kept: Option<Kept<'_>> = record.metadata.map(|kept| serde_json::from_str(kept.get())).transpose()?;
    let mut line = OpenAiLine {
        id: Some(&record.id),
        custom_id: kept.map(|kept| kept.custom_id),
        response: None,
        error: None,
    };
    match record.result_body {
        Some(body) if record.status == "completed" => {
            line.response = Some(OpenAiResponse { status_code: 200, request_id: &record.id, body });
        }
        Some(body) => line.error = Some(serde_json::from_str::<Failed<'_>>(body.get())?.error),
        None => {
            let message = "the request was cancelled".into();
            line.error = Some(Failure { code: record.status.clone(), message });
        }
    }
    serde_json::to_vec(&line).map(Cow::Owned)
}

/// The line for a request that the service refused: the members of Create Request, with the default of each absent member, and the error.
pub(super) fn of_refusal(
    shape: Shape,
    body: &[u8],
    status: u16,
    error: &ErrorBody,
) -> serde_json::Result<Vec<u8>> {
    let sent: HashMap<Cow<'_, str>, &RawValue> = serde_json::from_slice(body)?;
    let result = serde_json::value::to_raw_value(&json!({ "error": error }))?;
    if shape == Shape::OpenAiBatch {
        let kept =
            sent.get("metadata").map(|kept| serde_json::from_str::<Kept<'_>>(kept.get())).transpose()?;
        let response =
            Some(OpenAiResponse { status_code: status, request_id: &error.request_id, body: &result });
        let custom_id = kept.map(|kept| kept.custom_id);
        return serde_json::to_vec(&OpenAiLine { id: None, custom_id, response, error: None });
    }
    let status = serde_json::value::to_raw_value("refused")?;
    let mut line = vec![("id", RawValue::NULL), ("status", &*status)];
    for (name, default) in CREATE_MEMBERS {
        if let Some(value) = sent.get(name) {
            line.push((name, value));
        } else if let Some(text) = default {
            line.push((name, serde_json::from_str(text)?));
        }
    }
    line.push(("result_body", &result));
    let mut out = Vec::new();
    serde_json::Serializer::new(&mut out).collect_map(line)?;
    Ok(out)
}
