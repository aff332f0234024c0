//! What the writers write is what the types read, and what the types write again is the same text.

use overnight_domain::answers;
use overnight_domain::batches::{BatchState, Counters};
use overnight_domain::endpoints::Endpoint;
use overnight_domain::ids::{AccountId, BatchId, EventId, RequestId};
use overnight_domain::money::Credits;
use overnight_domain::records::{BatchRecord, ClientFields, RequestRecord, RequestSummary};
use overnight_domain::requests::RequestState;
use overnight_domain::webhooks::{AccountCredits, Event, EventKind, Subject};
use proptest::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::native::requests::{CREATE_MEMBERS, CreateRequest, FullRequest};
use crate::native::{batches, events, requests, warnings};

fn rewritten<T: DeserializeOwned + Serialize>(text: &[u8]) -> String {
    let record: T = serde_json::from_slice(text).expect("the type reads what the writer wrote");
    serde_json::to_string(&record).expect("a record is JSON")
}

fn agree<T: DeserializeOwned + Serialize>(write: impl FnOnce(&mut Vec<u8>)) {
    let mut text = Vec::new();
    write(&mut text);
    assert_eq!(rewritten::<T>(&text), String::from_utf8_lossy(&text));
}

fn time() -> impl Strategy<Value = i64> {
    -10_000_000_000_000i64..10_000_000_000_000
}

fn maybe<T: std::fmt::Debug + Clone>(value: impl Strategy<Value = T>) -> impl Strategy<Value = Option<T>> {
    proptest::option::of(value)
}

fn request_state() -> impl Strategy<Value = RequestState> {
    prop_oneof![
        time().prop_map(|ready_at| RequestState::Gathering { ready_at }),
        Just(RequestState::Queued),
        time().prop_map(|in_progress_at| RequestState::InProgress { in_progress_at }),
        (time(), time())
            .prop_map(|(in_progress_at, ended_at)| RequestState::Completed { in_progress_at, ended_at }),
        (maybe(time()), time())
            .prop_map(|(in_progress_at, ended_at)| RequestState::Failed { in_progress_at, ended_at }),
        (maybe(time()), time())
            .prop_map(|(in_progress_at, ended_at)| RequestState::Cancelled { in_progress_at, ended_at }),
    ]
}

fn batch_state() -> impl Strategy<Value = BatchState> {
    prop_oneof![
        Just(BatchState::Registered),
        time().prop_map(|in_progress_at| BatchState::InProgress { in_progress_at }),
        (time(), time()).prop_map(|(in_progress_at, completed_at)| BatchState::Completed {
            in_progress_at,
            completed_at
        }),
        (maybe(time()), time()).prop_map(|(in_progress_at, cancelled_at)| BatchState::Cancelled {
            in_progress_at,
            cancelled_at
        }),
    ]
}

fn object() -> impl Strategy<Value = Vec<u8>> {
    proptest::collection::btree_map(any::<String>(), any::<String>(), 0..3)
        .prop_map(|map| serde_json::to_vec(&map).expect("a map is JSON"))
}

fn summary() -> impl Strategy<Value = RequestSummary> {
    (any::<u128>(), request_state(), time(), time()).prop_map(|(bits, state, created_at, expires_at)| {
        RequestSummary { id: RequestId::from_bits(bits), state, created_at, expires_at }
    })
}

fn request() -> impl Strategy<Value = RequestRecord> {
    let batch_id = maybe(any::<u128>().prop_map(BatchId::from_bits));
    (summary(), batch_id, maybe(object()), object(), maybe(any::<String>()), maybe(object()), some_warnings())
        .prop_map(|(summary, batch_id, metadata, body, webhook, result, warnings)| RequestRecord {
            summary,
            batch_id,
            endpoint: Endpoint::ChatCompletions,
            client: ClientFields { metadata: metadata.map(Into::into), webhook },
            body: body.into(),
            result: result.map(Into::into),
            warnings: warnings.map(Into::into),
            attempts: Vec::new(),
        })
}

fn some_warnings() -> impl Strategy<Value = Option<Vec<u8>>> {
    let warning = any::<String>().prop_map(|message| answers::Warning { param: "request_body.n", message });
    proptest::collection::vec(warning, 0..3).prop_map(|told| warnings::write_warnings(&told))
}

fn counters() -> impl Strategy<Value = Counters> {
    proptest::array::uniform5(0..1_000_000_000i64).prop_map(
        |[registered, in_progress, completed, failed, cancelled]| Counters {
            registered,
            in_progress,
            completed,
            failed,
            cancelled,
        },
    )
}

fn batch() -> impl Strategy<Value = BatchRecord> {
    (any::<u128>(), batch_state(), counters(), time(), maybe(any::<String>()), maybe(object())).prop_map(
        |(bits, state, counters, created_at, webhook, metadata)| BatchRecord {
            id: BatchId::from_bits(bits),
            state,
            counters,
            created_at,
            webhook,
            metadata,
        },
    )
}

fn amount() -> impl Strategy<Value = Credits> {
    any::<u32>().prop_map(|nanos| Credits::from_nanos(i64::from(nanos) * 1_000_001))
}

fn event() -> impl Strategy<Value = Event> {
    let subject = prop_oneof![
        summary().prop_map(Subject::Request),
        batch().prop_map(Subject::Batch),
        any::<u128>().prop_map(|bits| Subject::Account(AccountId::from_bits(bits))),
        (any::<u128>(), amount(), amount(), amount()).prop_map(|(bits, threshold, balance, held)| {
            Subject::Credits(AccountCredits { account: AccountId::from_bits(bits), threshold, balance, held })
        }),
    ];
    (any::<u128>(), proptest::sample::select(&EventKind::ALL[..]), time(), subject).prop_map(
        |(bits, kind, created_at, subject)| Event { id: EventId::from_bits(bits), kind, created_at, subject },
    )
}

proptest! {
    #[test]
    fn request_records_are_told_the_same_twice(request in request()) {
        agree::<requests::RequestSummary>(|out| requests::write_status(&request.summary, out));
        agree::<FullRequest>(|out| requests::write_full(&request, out));
        let (mut full, mut create) = (Vec::new(), Vec::new());
        requests::write_full(&request, &mut full);
        requests::write_create(&request, &mut create);
        serde_json::from_slice::<CreateRequest>(&create).expect("a body of Create Request");
        let full: Map<String, Value> = serde_json::from_slice(&full).expect("an object");
        let create: Map<String, Value> = serde_json::from_slice(&create).expect("an object");
        assert_eq!(create.len(), CREATE_MEMBERS.len());
        for (name, _) in CREATE_MEMBERS {
            assert_eq!(create.get(name).expect("a member of Create Request"), &full[name]);
        }
    }

    #[test]
    fn batch_records_are_told_the_same_twice(batch in batch(), ids in proptest::collection::vec(any::<u128>(), 0..5)) {
        let ids: Vec<_> = ids.into_iter().map(RequestId::from_bits).collect();
        agree::<batches::BatchCreated>(|out| batches::write_created(&batch, out));
        agree::<batches::BatchSummary>(|out| batches::write_status(&batch, out));
        agree::<batches::FullBatch>(|out| batches::write_full(&batch, &ids, out));
    }

    #[test]
    fn events_are_told_the_same_twice(event in event()) {
        agree::<events::Event>(|out| events::write_event(&event, out));
    }

    #[test]
    fn no_line_holds_a_line_break(request in request()) {
        let mut line = Vec::new();
        requests::write_full(&request, &mut line);
        prop_assert!(!line.contains(&b'\n') && !line.contains(&b'\r'));
    }
}

#[test]
fn the_answer_to_create_request_is_the_status_of_a_registered_one() {
    let request = RequestSummary {
        id: RequestId::from_bits(7),
        state: RequestState::Queued,
        created_at: i64::MIN,
        expires_at: i64::MAX,
    };
    agree::<requests::RequestCreated>(|out| requests::write_status(&request, out));
}
