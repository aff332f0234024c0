//! Prints events.

use hyper::StatusCode;
use overnight_wire::native::events::{Event, EventData, EventKind};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::times;

#[derive(Debug)]
pub(super) struct Received<'a> {
    id: &'a str,
    envelope: Envelope<'a>,
    /// `None` if this release does not know the kind.
    subject: Option<EventData>,
}

/// The members that events of every kind have.
#[derive(Debug, Deserialize)]
struct Envelope<'a> {
    #[serde(rename = "type")]
    kind: String,
    timestamp: i64,
    #[serde(borrow)]
    data: &'a RawValue,
}

#[derive(Debug, Serialize)]
pub(super) struct Told<'a> {
    id: &'a str,
    #[serde(rename = "type")]
    kind: &'a str,
    timestamp: i64,
    data: &'a RawValue,
    verified: bool,
    again: bool,
    forwarded: Option<u16>,
    answered: u16,
    #[serde(skip)]
    subject: Option<&'a EventData>,
}

impl<'a> Received<'a> {
    /// `None` if the body is not an event.
    pub(super) fn read(id: &'a str, body: &'a [u8]) -> Option<Self> {
        let envelope: Envelope<'a> = serde_json::from_slice(body).ok()?;
        let subject = match EventKind::parse(&envelope.kind) {
            Some(_) => Some(serde_json::from_slice::<Event>(body).ok()?.data),
            None => None,
        };
        Some(Self { id, envelope, subject })
    }
}

impl<'a> Told<'a> {
    pub(super) fn new(
        event: &'a Received<'_>,
        again: bool,
        forwarded: Option<StatusCode>,
        answered: StatusCode,
    ) -> Self {
        let Received { id, envelope, subject } = event;
        Self {
            id,
            kind: &envelope.kind,
            timestamp: envelope.timestamp,
            data: envelope.data,
            verified: true,
            again,
            forwarded: forwarded.map(|status| status.as_u16()),
            answered: answered.as_u16(),
            subject: subject.as_ref(),
        }
    }

    /// The output for machines.
    pub(super) fn json(&self) -> String {
        // Serialization cannot fail: every key is a string.
        tame_json(&serde_json::to_string(self).unwrap_or_default())
    }

    /// The output for people.
    pub(super) fn line(&self, now_s: i64) -> String {
        let subject = self.subject.map_or("-", |subject| match subject {
            EventData::Request(request) => &request.id,
            EventData::Batch(batch) => &batch.id,
            EventData::Credits(of) => &of.account,
            EventData::Test(of) => &of.account,
        });
        let [kind, subject, id] = [self.kind, subject, self.id].map(|text| text.escape_debug().to_string());
        let time = times::of_day(now_s);
        let mut line = format!("{time}  {kind:17}  {subject:32}  {id:30}");
        let more = [self.subject.map(describe), self.again.then(|| "again".to_owned()), self.passed_back()];
        for part in more.into_iter().flatten() {
            line.push_str("  ");
            line.push_str(&part);
        }
        line.trim_end().to_owned()
    }

    /// The answer to the service, if the event was forwarded.
    fn passed_back(&self) -> Option<String> {
        match (self.forwarded, self.answered) {
            (None, 200) => None,
            (Some(_), status) => Some(format!("answered {status}")),
            (None, status) => Some(format!("not answered, passed back as {status}")),
        }
    }
}

fn describe(subject: &EventData) -> String {
    match subject {
        EventData::Request(request) => {
            let ended_at = request.ended_at.unwrap_or(request.created_at);
            let took_ms = ended_at.saturating_sub(request.created_at).saturating_mul(1_000);
            format!("after {}", times::duration(took_ms))
        }
        EventData::Batch(batch) => {
            let counts = &batch.requests_counts;
            let more = match counts.cancelled {
                0 => String::new(),
                cancelled => format!(", {cancelled} cancelled"),
            };
            format!("{} completed, {} failed{more}", counts.completed, counts.failed)
        }
        EventData::Credits(credits) => {
            format!("{} available, less than {}", credits.available, credits.threshold)
        }
        EventData::Test(_) => "a test".to_owned(),
    }
}

/// The same JSON on one line, without characters that control a terminal. Line breaks can only be outside of strings, and the other
/// characters only inside.
fn tame_json(text: &str) -> String {
    let mut tame = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' | '\r' => tame.push(' '),
            '\u{7f}'..='\u{9f}' => tame.push_str(&format!("\\u{:04x}", u32::from(character))),
            _ => tame.push(character),
        }
    }
    tame
}

#[cfg(test)]
mod tests {
    use super::*;

    const REQUEST: &str = concat!(
        r#"{"type":"request.failed","timestamp":1751500065,"data":{"id":"req_01jz8m3v6qf8jbk2w5n7y9t0xd","#,
        r#""status":"failed","created_at":1751500000,"expires_at":1751586400,"ended_at":1751500065,"more":1}}"#
    );

    fn told(body: &str, check: impl FnOnce(&Received<'_>)) {
        check(&Received::read("evt_1", body.as_bytes()).unwrap());
    }

    #[test]
    fn a_line_says_what_happened_to_what_and_what_was_answered() {
        let start = "00:00:05Z  request.failed     req_01jz8m3v6qf8jbk2w5n7y9t0xd    evt_1";
        told(REQUEST, |event| {
            for (again, forwarded, answered, end) in [
                (false, None, StatusCode::OK, ""),
                (true, None, StatusCode::OK, "  again"),
                (false, Some(StatusCode::OK), StatusCode::OK, "  answered 200"),
                (false, Some(StatusCode::FOUND), StatusCode::FOUND, "  answered 302"),
                (true, None, StatusCode::BAD_GATEWAY, "  again  not answered, passed back as 502"),
            ] {
                let line = Told::new(event, again, forwarded, answered).line(5);
                assert_eq!(line, format!("{start:94}  after 1m 5s{end}"));
            }
        });
    }

    #[test]
    fn json_keeps_the_record_whole() {
        told(REQUEST, |event| {
            let json = Told::new(event, false, None, StatusCode::OK).json();
            let expected = concat!(
                r#"{"id":"evt_1","type":"request.failed","timestamp":1751500065,"#,
                r#""data":{"id":"req_01jz8m3v6qf8jbk2w5n7y9t0xd","status":"failed","created_at":1751500000,"#,
                r#""expires_at":1751586400,"ended_at":1751500065,"more":1},"#,
                r#""verified":true,"again":false,"forwarded":null,"answered":200}"#
            );
            assert_eq!(json, expected);
        });
    }

    #[test]
    fn what_a_terminal_obeys_is_not_printed() {
        let body = "{\"type\":\"a\\u001b[2J\",\n\"timestamp\":5,\"data\":\r\n{\"a\":\"\u{9b}2J\\u001b\"}}";
        told(body, |event| {
            let told = Told::new(event, false, None, StatusCode::OK);
            assert!(told.line(5).starts_with("00:00:05Z  a\\u{1b}[2J         -  "), "{}", told.line(5));
            assert!(!told.json().chars().any(char::is_control), "{}", told.json());
            let data = &serde_json::from_str::<serde_json::Value>(&told.json()).unwrap()["data"];
            assert_eq!(data["a"], "\u{9b}2J\u{1b}");
        });
    }

    #[test]
    fn what_is_no_event_is_not_taken_for_one() {
        for body in [
            "",
            "5",
            "{}",
            r#"{"type":"later","timestamp":"5","data":{}}"#,
            r#"{"type":"later","timestamp":5}"#,
            r#"{"type":"batch.completed","timestamp":5,"data":{}}"#,
        ] {
            assert!(Received::read("evt_1", body.as_bytes()).is_none(), "{body}");
        }
    }
}
