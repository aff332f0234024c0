use overnight_domain::answers;
use overnight_domain::batches::{BatchState, Counters};
use overnight_domain::endpoints::Endpoint;
use overnight_domain::ids::{AccountId, BatchId, EventId, RequestId};
use overnight_domain::records::{BatchRecord, ClientFields, FailedAttempt, RequestRecord, RequestSummary};
use overnight_domain::requests::{COMPLETION_WINDOW_MS, RequestState};
use overnight_domain::webhooks::{AccountCredits, Event, EventKind, Subject};

use crate::native::errors::{ErrorBody, ErrorDetail, ErrorEnvelope};
use crate::native::models::{Model, ModelList};
use crate::native::waiting::{WaitingFor, WaitingReason};
use crate::native::{batches, events, requests, warnings};

pub(super) const CREATED_AT: i64 = 1_751_500_000_999;

pub(super) fn summary(state: RequestState) -> RequestSummary {
    RequestSummary {
        id: RequestId::from_bits(1),
        state,
        created_at: CREATED_AT,
        expires_at: CREATED_AT + COMPLETION_WINDOW_MS,
    }
}

pub(super) fn written(write: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut out = Vec::new();
    write(&mut out);
    String::from_utf8(out).expect("JSON is UTF-8")
}

fn status_line(state: RequestState) -> String {
    written(|out| requests::write_status(&summary(state), out))
}

#[test]
fn a_request_just_created_has_four_keys_and_a_day() {
    let expected = concat!(
        r#"{"id":"req_00000000000000000000000001","status":"registered","#,
        r#""created_at":1751500000,"expires_at":1751586400}"#
    );
    assert_eq!(status_line(RequestState::Queued), expected);
    assert_eq!(status_line(RequestState::Gathering { ready_at: 5 }), expected);
}

#[test]
fn times_appear_once_they_are_set() {
    let started = status_line(RequestState::InProgress { in_progress_at: CREATED_AT + 3000 });
    assert!(started.contains(r#""status":"in progress""#));
    assert!(started.ends_with(r#","expires_at":1751586400,"in_progress_at":1751500003}"#));
    let cancelled =
        status_line(RequestState::Cancelled { in_progress_at: None, ended_at: CREATED_AT + 5000 });
    assert!(cancelled.ends_with(r#","expires_at":1751586400,"ended_at":1751500005}"#));
}

#[test]
fn a_full_request_passes_its_bodies_through() {
    let warning =
        answers::Warning { param: "request_body.n", message: "The engine did not honour \"n\".".to_owned() };
    let record = RequestRecord {
        summary: summary(RequestState::Completed {
            in_progress_at: CREATED_AT + 3000,
            ended_at: CREATED_AT + 5000,
        }),
        batch_id: Some(BatchId::from_bits(2)),
        endpoint: Endpoint::ChatCompletions,
        client: ClientFields {
            metadata: Some("{}".into()),
            webhook: Some("https://example.com/?q=\"".to_owned()),
        },
        body: r#"{"model":"m","seed":1.50e0}"#.into(),
        result: Some(r#"{"object":"chat.completion"}"#.into()),
        warnings: warnings::write_warnings(&[warning]).map(Into::into),
        attempts: vec![FailedAttempt::new(1_751_500_004_999, Some(500), "no \"room\"".to_owned())],
    };
    assert_eq!(
        written(|out| requests::write_full(&record, out)),
        concat!(
            r#"{"id":"req_00000000000000000000000001","status":"completed","created_at":1751500000,"#,
            r#""expires_at":1751586400,"in_progress_at":1751500003,"ended_at":1751500005,"#,
            r#""batch_id":"batch_00000000000000000000000002","metadata":{},"#,
            r#""request_body":{"model":"m","seed":1.50e0},"completion_window":"24h","#,
            r#""webhook":"https://example.com/?q=\"","result_body":{"object":"chat.completion"},"#,
            r#""warnings":[{"param":"request_body.n","message":"The engine did not honour \"n\"."}],"#,
            r#""attempts":[{"ended_at":1751500004,"status":500,"message":"no \"room\""}]}"#
        )
    );
}

#[test]
fn a_full_request_without_extras_says_null_and_has_no_result() {
    let record = RequestRecord {
        summary: summary(RequestState::Queued),
        batch_id: None,
        endpoint: Endpoint::ChatCompletions,
        client: ClientFields::default(),
        body: "{}".into(),
        result: None,
        warnings: None,
        attempts: Vec::new(),
    };
    assert!(written(|out| requests::write_full(&record, out)).ends_with(concat!(
        r#""expires_at":1751586400,"batch_id":null,"metadata":null,"request_body":{},"#,
        r#""completion_window":"24h","webhook":null}"#
    )));
    let running_model = Some("large".to_owned());
    let waiting_for =
        WaitingFor { reason: WaitingReason::EnginesStopped, until: Some(7), others: None, running_model };
    let prospect = requests::Prospect { waiting_for: Some(waiting_for), estimated_completion_at: Some(9) };
    for told in [
        written(|out| requests::write_full_of_one(&record, &prospect, out)),
        written(|out| requests::write_status_of_one(&record.summary, &prospect, out)),
    ] {
        let end = concat!(
            r#","waiting_for":{"reason":"engines_stopped","until":7,"running_model":"large"},"#,
            r#""estimated_completion_at":9}"#
        );
        assert!(told.ends_with(end), "{told}");
        let record: requests::RequestSummary = serde_json::from_str(&told).expect("a status record");
        assert_eq!((&record.waiting_for, record.estimated_completion_at), (&prospect.waiting_for, Some(9)));
    }
    let create = written(|out| requests::write_create(&record, out));
    let places = requests::CREATE_MEMBERS.map(|(name, _)| create.find(name).expect("a member"));
    assert!(places.is_sorted(), "the members are written in the order of their list: {create}");
}

pub(super) fn batch(state: BatchState) -> BatchRecord {
    BatchRecord {
        id: BatchId::from_bits(2),
        state,
        counters: Counters { registered: 1, in_progress: 2, completed: 3, failed: 4, cancelled: 5 },
        created_at: CREATED_AT,
        webhook: None,
        metadata: Some(br#"{"batch_name":"nightly"}"#.to_vec()),
    }
}

const BATCH_HEAD: &str = r#"{"id":"batch_00000000000000000000000002","status":""#;
const BATCH_COUNTS: &str = concat!(
    r#"","requests_counts":{"total":15,"completed":3,"failed":4,"in_progress":2,"#,
    r#""registered":1,"cancelled":5},"created_at":1751500000"#
);

#[test]
fn a_batch_just_created_says_registered_whatever_its_requests_are() {
    let record = batch(BatchState::InProgress { in_progress_at: CREATED_AT });
    assert_eq!(
        written(|out| batches::write_created(&record, out)),
        format!("{BATCH_HEAD}registered{BATCH_COUNTS}}}")
    );
}

#[test]
fn a_batch_status_always_has_cancelled_at() {
    let check = |state, expected: &str| {
        let text = written(|out| batches::write_status(&batch(state), out));
        assert_eq!(text, format!("{BATCH_HEAD}{expected}"));
    };
    check(BatchState::Registered, &format!(r#"registered{BATCH_COUNTS},"cancelled_at":null}}"#));
    check(
        BatchState::Completed { in_progress_at: CREATED_AT + 1000, completed_at: CREATED_AT + 9000 },
        &format!(
            r#"completed{BATCH_COUNTS},"in_progress_at":1751500001,"completed_at":1751500009,"cancelled_at":null}}"#
        ),
    );
    check(
        BatchState::Cancelled { in_progress_at: None, cancelled_at: CREATED_AT + 1 },
        &format!(r#"cancelled{BATCH_COUNTS},"cancelled_at":1751500001}}"#),
    );
    let registered = batch(BatchState::Registered);
    for told in [
        written(|out| batches::write_status_of_one(&registered, Some(9), out)),
        written(|out| batches::write_full_of_one(&registered, Some(&[]), Some(9), out)),
    ] {
        assert!(told.contains(r#","cancelled_at":null,"estimated_completion_at":9"#), "{told}");
        let summary: batches::BatchSummary = serde_json::from_str(&told).expect("a status record");
        assert_eq!(summary.estimated_completion_at, Some(9));
    }
}

#[test]
fn a_full_batch_keeps_the_order_of_its_requests() {
    let ids = [RequestId::from_bits(9), RequestId::from_bits(3)];
    let text = written(|out| batches::write_full(&batch(BatchState::Registered), Some(&ids), out));
    assert_eq!(
        text,
        format!(
            concat!(
                r#"{}registered{},"cancelled_at":null,"#,
                r#""requests_ids":["req_00000000000000000000000009","req_00000000000000000000000003"],"#,
                r#""webhook":null,"metadata":{{"batch_name":"nightly"}}}}"#
            ),
            BATCH_HEAD, BATCH_COUNTS
        )
    );
}

#[test]
fn an_event_is_its_type_its_time_its_identifier_and_the_status_record() {
    let check = |kind, subject, expected: &str| {
        let event = Event { id: EventId::from_bits(3), kind, created_at: CREATED_AT + 5000, subject };
        assert_eq!(written(|out| events::write_event(&event, out)), expected);
    };
    let ended = RequestState::Completed { in_progress_at: CREATED_AT + 3000, ended_at: CREATED_AT + 5000 };
    check(
        EventKind::RequestCompleted,
        Subject::Request(summary(ended)),
        concat!(
            r#"{"type":"request.completed","timestamp":1751500005,"id":"evt_00000000000000000000000003","created_at":1751500005,"data":"#,
            r#"{"id":"req_00000000000000000000000001","status":"completed","created_at":1751500000,"#,
            r#""expires_at":1751586400,"in_progress_at":1751500003,"ended_at":1751500005}}"#
        ),
    );
    check(
        EventKind::BatchCancelled,
        Subject::Batch(batch(BatchState::Cancelled { in_progress_at: None, cancelled_at: CREATED_AT + 1 })),
        &format!(
            concat!(
                r#"{{"type":"batch.cancelled","timestamp":1751500005,"id":"evt_00000000000000000000000003","created_at":1751500005,"data":"#,
                r#"{}cancelled{},"cancelled_at":1751500001}}}}"#
            ),
            BATCH_HEAD, BATCH_COUNTS
        ),
    );
    check(
        EventKind::WebhookTest,
        Subject::Account(AccountId::from_bits(4)),
        r#"{"type":"webhook.test","timestamp":1751500005,"id":"evt_00000000000000000000000003","created_at":1751500005,"data":{"account":"acct_00000000000000000000000004"}}"#,
    );
    let amount = |text: &str| text.parse().expect("credits");
    let (threshold, balance, held) = (amount("10"), amount("9.5"), amount("0.25"));
    check(
        EventKind::AccountLowCredits,
        Subject::Credits(AccountCredits { account: AccountId::from_bits(4), threshold, balance, held }),
        concat!(
            r#"{"type":"account.low_credits","timestamp":1751500005,"id":"evt_00000000000000000000000003","created_at":1751500005,"data":"#,
            r#"{"account":"acct_00000000000000000000000004","threshold":"10","balance":"9.5","held":"0.25","available":"9.25"}}"#
        ),
    );
}

#[test]
fn an_event_of_another_kind_is_not_read_and_more_fields_are_passed_over() {
    let read = |kind: &str| {
        let data = status_line(RequestState::Queued).replace('}', r#","later":1}"#);
        serde_json::from_str::<events::Event>(&format!(
            r#"{{"type":"{kind}","timestamp":5,"data":{data},"later":{{}}}}"#
        ))
    };
    assert!(read("request.failed").is_ok_and(|event| event.kind == EventKind::RequestFailed));
    assert!(read("request.sneezed").is_err_and(|error| error.to_string().contains("the type of an event")));
}

#[test]
fn an_error_always_has_its_six_keys() {
    let mut body = ErrorBody {
        message: "no such request".to_owned(),
        kind: "not_found_error".to_owned(),
        code: "not_found".to_owned(),
        param: None,
        details: Vec::new(),
        details_total: None,
        request_id: "call_1".to_owned(),
    };
    let text = |body: &ErrorBody| {
        serde_json::to_string(&ErrorEnvelope { error: body.clone() }).expect("an envelope is JSON")
    };
    assert_eq!(
        text(&body),
        concat!(
            r#"{"error":{"message":"no such request","type":"not_found_error","code":"not_found","#,
            r#""param":null,"details":[],"request_id":"call_1"}}"#
        )
    );
    body.details.push(ErrorDetail {
        param: Some("requests_ids[3]".to_owned()),
        id: Some("req_1".to_owned()),
        message: "not one of your requests".to_owned(),
        code: "unknown".to_owned(),
    });
    body.details_total = Some(1);
    assert!(text(&body).ends_with(concat!(
        r#""details":[{"param":"requests_ids[3]","id":"req_1","message":"not one of your requests","#,
        r#""code":"unknown"}],"details_total":1,"request_id":"call_1"}}"#
    )));
}

#[test]
fn a_model_without_a_price_says_null() {
    let model = Model {
        id: "tiny".to_owned(),
        object: Model::OBJECT.to_owned(),
        created: 5,
        owned_by: "overnight".to_owned(),
        input_price: None,
        output_price: Some("0.15".to_owned()),
        default_max_tokens: 512,
        image_tokens: 1_024,
        bytes_per_token: 2,
        aliases: vec!["small".to_owned()],
        retires_at: None,
        replaced_by: None,
    };
    let list = ModelList { object: ModelList::OBJECT.to_owned(), data: vec![model] };
    assert_eq!(
        serde_json::to_string(&list).expect("a list is JSON"),
        concat!(
            r#"{"object":"list","data":[{"id":"tiny","object":"model","created":5,"owned_by":"overnight","#,
            r#""input_price":null,"output_price":"0.15","default_max_tokens":512,"image_tokens":1024,"bytes_per_token":2,"#,
            r#""aliases":["small"],"retires_at":null,"replaced_by":null}]}"#
        )
    );
}
