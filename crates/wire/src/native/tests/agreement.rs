//! The types read what the writers write, and write the same text again.

use overnight_domain::batches::{BatchState, Counters};
use overnight_domain::endpoints::Endpoint;
use overnight_domain::ids::{AccountId, BatchId, EventId, RequestId};
use overnight_domain::json::quote;
use overnight_domain::money::Credits;
use overnight_domain::records::{BatchRecord, ClientFields, FailedAttempt, RequestRecord, RequestSummary};
use overnight_domain::requests::RequestState;
use overnight_domain::webhooks::{AccountCredits, Event, EventKind, Subject};
use proptest::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::samples::{CREATED_AT, batch, summary, written};
use crate::native::requests::{CREATE_MEMBERS, CreateRequest, FullRequest, Prospect};
use crate::native::waiting::{WaitingFor, WaitingReason};
use crate::native::{batches, events, requests};

/// Characters that JSON escapes, and some that it need not escape.
const TEXT: &str = "\"\\/\r\n\t\0\u{7f}\u{85}\u{2028}é😀";

fn agree<T: DeserializeOwned + Serialize>(write: impl FnOnce(&mut Vec<u8>)) {
    let text = written(write);
    let record: T = serde_json::from_str(&text).expect("the type reads what the writer wrote");
    assert_eq!(serde_json::to_string(&record).expect("a record is JSON"), text);
}

fn request_states() -> [RequestState; 8] {
    let (in_progress_at, ended_at) = (CREATED_AT, -1);
    let begun = Some(in_progress_at);
    [
        RequestState::Gathering { ready_at: 5 },
        RequestState::Queued,
        RequestState::InProgress { in_progress_at },
        RequestState::Completed { in_progress_at, ended_at },
        RequestState::Failed { in_progress_at: None, ended_at },
        RequestState::Failed { in_progress_at: begun, ended_at },
        RequestState::Cancelled { in_progress_at: None, ended_at },
        RequestState::Cancelled { in_progress_at: begun, ended_at },
    ]
}

fn batch_states() -> [BatchState; 5] {
    let (in_progress_at, cancelled_at) = (CREATED_AT, i64::MAX);
    [
        BatchState::Registered,
        BatchState::InProgress { in_progress_at },
        BatchState::Completed { in_progress_at, completed_at: i64::MIN },
        BatchState::Cancelled { in_progress_at: None, cancelled_at },
        BatchState::Cancelled { in_progress_at: Some(in_progress_at), cancelled_at },
    ]
}

/// A request with all optional members or none. `text` is every string in it.
fn request(state: RequestState, has_all: bool, text: &str) -> RequestRecord {
    let object = format!(r#"{{{}:{0},"n":1.50e0}}"#, quote(text));
    let warnings = format!(r#"[{{"param":"request_body.n","message":{}}}]"#, quote(text));
    let attempts = [None, Some(500)].map(|status| FailedAttempt::new(-1, status, text.to_owned()));
    RequestRecord {
        summary: summary(state),
        batch_id: has_all.then(|| BatchId::from_bits(u128::MAX)),
        endpoint: Endpoint::ChatCompletions,
        client: ClientFields {
            metadata: has_all.then(|| object.clone().into()),
            webhook: has_all.then(|| text.to_owned()),
        },
        body: object.clone().into(),
        result: has_all.then(|| object.into()),
        warnings: has_all.then(|| warnings.into()),
        attempts: if has_all { attempts.into() } else { Vec::new() },
    }
}

#[test]
fn request_records_are_told_the_same_twice() {
    for (state, has_all) in request_states().into_iter().flat_map(|state| [(state, false), (state, true)]) {
        let request = request(state, has_all, TEXT);
        let running_model = has_all.then(|| TEXT.to_owned());
        let waiting_for =
            WaitingFor { reason: WaitingReason::Queue, until: None, others: Some(1), running_model };
        let prospect = Prospect {
            waiting_for: has_all.then_some(waiting_for),
            estimated_completion_at: has_all.then_some(i64::MAX),
        };
        agree::<requests::RequestSummary>(|out| requests::write_status(&request.summary, out));
        agree::<requests::RequestSummary>(|out| {
            requests::write_status_of_one(&request.summary, &prospect, out);
        });
        agree::<FullRequest>(|out| requests::write_full(&request, out));
        agree::<FullRequest>(|out| requests::write_full_of_one(&request, &prospect, out));
        let full = written(|out| requests::write_full(&request, out));
        let create = written(|out| requests::write_create(&request, out));
        serde_json::from_str::<CreateRequest>(&create).expect("a body of Create Request");
        let full: Map<String, Value> = serde_json::from_str(&full).expect("an object");
        let create: Map<String, Value> = serde_json::from_str(&create).expect("an object");
        assert_eq!(create.len(), CREATE_MEMBERS.len());
        for (name, _) in CREATE_MEMBERS {
            assert_eq!(create.get(name).expect("a member of Create Request"), &full[name]);
        }
    }
}

#[test]
fn the_answer_to_create_request_is_the_status_of_a_registered_one() {
    let queued = summary(RequestState::Queued);
    let request = RequestSummary { created_at: i64::MIN, expires_at: i64::MAX, ..queued };
    agree::<requests::RequestCreated>(|out| requests::write_status(&request, out));
}

#[test]
fn batch_records_are_told_the_same_twice() {
    let ids = [RequestId::from_bits(0), RequestId::from_bits(u128::MAX)];
    for record in batch_states().map(batch) {
        let all = BatchRecord { webhook: Some(TEXT.to_owned()), ..record.clone() };
        let none = BatchRecord { metadata: None, counters: Counters::default(), ..record };
        for (batch, ids, at) in [(all, &ids[..], Some(i64::MIN)), (none, &[], None)] {
            agree::<batches::BatchCreated>(|out| batches::write_created(&batch, out));
            agree::<batches::BatchSummary>(|out| batches::write_status(&batch, out));
            agree::<batches::BatchSummary>(|out| batches::write_status_of_one(&batch, at, out));
            agree::<batches::FullBatch>(|out| batches::write_full(&batch, Some(ids), out));
            agree::<batches::FullBatch>(|out| batches::write_full(&batch, None, out));
            agree::<batches::FullBatch>(|out| batches::write_full_of_one(&batch, Some(ids), at, out));
        }
    }
}

#[test]
fn events_are_told_the_same_twice() {
    let account = AccountId::from_bits(u128::MAX);
    let [threshold, balance, held] = [1, -1_000_001, 0].map(Credits::from_nanos);
    let requests = request_states().map(|state| Subject::Request(summary(state)));
    let batches = batch_states().map(|state| Subject::Batch(batch(state)));
    let credits = Subject::Credits(AccountCredits { account, threshold, balance, held });
    let subjects = requests.into_iter().chain(batches).chain([Subject::Account(account), credits]);
    for (subject, kind) in subjects.zip(EventKind::ALL.into_iter().cycle()) {
        let event = Event { id: EventId::from_bits(0), kind, created_at: -1, subject };
        agree::<events::Event>(|out| events::write_event(&event, out));
    }
}

proptest! {
    #[test]
    fn no_line_holds_a_line_break(text in any::<String>()) {
        for state in request_states() {
            let request = request(state, true, &text);
            agree::<FullRequest>(|out| requests::write_full(&request, out));
            let line = written(|out| requests::write_full(&request, out));
            prop_assert!(!line.contains(['\n', '\r']));
        }
    }
}
