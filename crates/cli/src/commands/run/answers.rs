//! The line that a run writes for each line of the prompts.

use std::borrow::Cow;

use overnight_client::ErrorBody;
use serde::{Deserialize, Serialize};
use serde_json::json;
use serde_json::value::RawValue;

use crate::prompts::Shape;

/// What is read of a full request record.
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
}

/// The error of a failed request.
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

/// What is kept of an OpenAI batch line in the metadata of its request.
#[derive(Deserialize)]
struct Kept<'a> {
    #[serde(borrow)]
    custom_id: &'a RawValue,
}

/// A line of OpenAI's output files.
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

/// The line for a request that ended, from its full record.
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

/// The line for one that the service would not take, from the body of Create Request that was sent for it.
pub(super) fn of_refusal(
    shape: Shape,
    body: &[u8],
    status: u16,
    error: &ErrorBody,
) -> serde_json::Result<Vec<u8>> {
    #[derive(Deserialize)]
    struct Sent<'a> {
        #[serde(borrow)]
        request_body: &'a RawValue,
        #[serde(borrow)]
        metadata: Option<&'a RawValue>,
    }
    let sent: Sent<'_> = serde_json::from_slice(body)?;
    let told = json!({ "error": error });
    if shape == Shape::OpenAiBatch {
        let kept: Option<Kept<'_>> =
            sent.metadata.map(|kept| serde_json::from_str(kept.get())).transpose()?;
        let body = &serde_json::value::to_raw_value(&told)?;
        let response = Some(OpenAiResponse { status_code: status, request_id: &error.request_id, body });
        let custom_id = kept.map(|kept| kept.custom_id);
        return serde_json::to_vec(&OpenAiLine { id: None, custom_id, response, error: None });
    }
    #[derive(Serialize)]
    struct Refused<'a> {
        id: Option<&'a str>,
        status: &'a str,
        metadata: Option<&'a RawValue>,
        request_body: &'a RawValue,
        result_body: serde_json::Value,
    }
    let Sent { request_body, metadata } = sent;
    serde_json::to_vec(&Refused { id: None, status: "refused", metadata, request_body, result_body: told })
}
