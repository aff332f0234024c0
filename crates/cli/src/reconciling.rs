//! After a crash: requests that the service accepted and this program did not live to write down are found again by
//! what they ask, so that they are not asked twice.

use std::collections::{HashMap, HashSet};

use overnight_client::{Client, FullRequest, RequestFilter};
use overnight_domain::ids::RequestId;
use overnight_domain::json::{Json, minimize};
use overnight_wire::native::requests::CREATE_MEMBERS;
use sha2::{Digest, Sha256};

use crate::errors::CliError;
use crate::journal::{Asked, Journal};
use crate::prompts::Prompts;

/// The clock may have been set back a little since.
const SLACK_SECONDS: i64 = 120;

/// What a request asks, as one number.
type Fingerprint = [u8; 32];

/// Gives each line without a request the one that the service took for it, if there is one in no batch yet.
pub(crate) async fn adopt_lost(
    client: &Client,
    prompts: &Prompts,
    journal: &mut Journal,
) -> Result<usize, CliError> {
    let missing = journal.missing();
    if !journal.is_resumed() || missing.is_empty() {
        return Ok(0);
    }
    let mut unknown = unknown_requests(client, journal).await?;
    let mut reader = prompts.reader()?;
    let mut adopted = Vec::new();
    for index in missing {
        if unknown.is_empty() {
            break;
        }
        let Some(fingerprint) = of_members(&reader.create_body(index)?) else { continue };
        let Some(same) = unknown.get_mut(&fingerprint) else { continue };
        if let Some((id, created_at)) = same.pop() {
            adopted.push(Asked { index, id, created_at });
        }
        if same.is_empty() {
            unknown.remove(&fingerprint);
        }
    }
    journal.record_asked(prompts.lines(), &adopted)?;
    Ok(adopted.len())
}

/// The requests that may be ours and are not in the journal: identifier and time of creation, by what they ask.
async fn unknown_requests(
    client: &Client,
    journal: &Journal,
) -> Result<HashMap<Fingerprint, Vec<(String, i64)>>, CliError> {
    let known: HashSet<RequestId> = journal.asked().iter().flatten().copied().collect();
    let created_after = journal.in_doubt_since() - SLACK_SECONDS;
    let filter = RequestFilter { created_after: Some(created_after), ..RequestFilter::default() };
    let mut list = client.list_full_requests(&filter).await?;
    let mut unknown: HashMap<Fingerprint, Vec<(String, i64)>> = HashMap::new();
    while let Some(request) = list.next().await {
        let request = request?;
        let is_known = RequestId::parse(&request.id).is_some_and(|id| known.contains(&id));
        if !is_known && request.batch_id.is_none() {
            let (id, created_at) = (request.id.clone(), request.created_at);
            let unreadable = || CliError::unavailable(format!("the service's record of {id} cannot be read"));
            let fingerprint = of_request(request).ok_or_else(unreadable)?;
            unknown.entry(fingerprint).or_default().push((id, created_at));
        }
    }
    Ok(unknown)
}

fn of_request(mut request: FullRequest) -> Option<Fingerprint> {
    // It was not sent, and may be nested deeper than what was.
    request.result_body = None;
    of_members(&serde_json::to_vec(&request).ok()?)
}

/// Of the members of Create Request, in its body or in the full record that the service keeps: without white space outside
/// strings, with defaults filled in.
fn of_members(text: &[u8]) -> Option<Fingerprint> {
    let text = minimize(text, 0).ok()?;
    let object = text.as_json().to_object()?;
    let mut hash = Sha256::new();
    for (name, default) in CREATE_MEMBERS {
        let default = default.map(|text| Json::from_stored(text.as_bytes())).transpose().ok()?;
        let value = object.get(name).or(default)?;
        let decoded = value.decode_string();
        hash.update([u8::from(decoded.is_some())]);
        let value = decoded.unwrap_or(value.as_str().into());
        hash.update(value.len().to_le_bytes());
        hash.update(value.as_bytes());
    }
    Some(hash.finalize().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_and_the_record_that_the_service_keeps_of_it_are_told_to_be_the_same() {
        let deep = format!("{}{}", "[".repeat(100), "]".repeat(100));
        let kept = |metadata: &str, webhook: &str| {
            let text = format!(
                r#"{{"id":"req_1","status":"registered","created_at":1,"expires_at":2,"batch_id":null,"metadata":{metadata},
                "request_body":{{"model":"m","seed":1e3}},"completion_window":"24h","webhook":{webhook},"result_body":{deep}}}"#
            );
            of_request(serde_json::from_str(&text).unwrap()).expect("a full record")
        };
        let sent = |beside: &str| {
            of_members(
                format!("{{ \"request_body\": {{\"model\" :\"m\", \"seed\":1e3}}{beside}}}").as_bytes(),
            )
            .expect("a body of Create Request")
        };
        assert_eq!(sent(""), kept("{}", "null"));
        assert_eq!(sent(", \"webhook\": null, \"completion_window\": \"24h\""), kept("{}", "null"));
        assert_eq!(sent(", \"metadata\": null"), kept("null", "null"));
        assert_eq!(sent(", \"metadata\": {\"a\": 1}"), kept("{\"a\":1}", "null"));
        assert_eq!(sent(", \"webhook\": \"https:\\/\\/a\""), kept("{}", "\"https://a\""));
        assert_ne!(sent(", \"webhook\": \"null\""), kept("{}", "null"));
        assert_ne!(sent(", \"metadata\": {\"a\": 2}"), kept("{\"a\":1}", "null"));
    }
}
