//! Two accounts that work at the same time: each gets the answers that it gets alone.

use std::collections::BTreeMap;

use futures_util::future::join;
use overnight_app::accounts;
use overnight_app::api_keys::KeyDraft;
use overnight_app::file_batches::fill_account;
use overnight_domain::requests::RequestStatus;
use overnight_domain::scheduler::AccountKey;

use super::callers::{Caller, told};
use super::sent::Call;
use super::sent::Sent::{self, Json, Lines, Nothing, Parts};
use crate::support::{Client, TestApp};

/// A step of a script. `<3>` is the third identifier in the account's answers.
enum Step {
    /// A call with its expected status.
    Call(u16, &'static str, &'static str, Sent),
    /// The same under an `Idempotency-Key`.
    Once(&'static str, u16, &'static str, Sent),
    Fill,
    /// Completes or fails the waiting requests.
    End(RequestStatus),
}

use Step::{Call as Ask, End, Fill, Once};

macro_rules! request {
    ($content:literal) => {
        concat!(
            r#"{"request_body":{"model":"llama-3.1-8b-instruct","messages":[{"role":"user","content":""#,
            $content,
            r#""}]},"metadata":{"custom_id":"a"}}"#
        )
    };
}

const FILE: &[(&str, &str)] = &[
    ("name=\"purpose\"", "batch"),
    (
        "name=\"file\"; filename=\"rows.jsonl\"",
        concat!(
            r#"{"custom_id":"a","method":"POST","url":"/v1/chat/completions","body":{"model":"llama-3.1-8b-instruct","#,
            r#""messages":[{"role":"user","content":"a line"}]}}"#
        ),
    ),
];
const FILE_BATCH: &str =
    r#"{"input_file_id":"<6>","endpoint":"/v1/chat/completions","completion_window":"24h"}"#;
const MESSAGES: &str = concat!(
    r#"{"requests":[{"custom_id":"a","params":{"model":"llama-3.1-8b-instruct","max_tokens":5,"#,
    r#""messages":[{"role":"user","content":"hello"}]}}]}"#
);
const UPLOAD: &str =
    r#"{"bytes":9,"filename":"rows.jsonl","mime_type":"application/jsonl","purpose":"batch"}"#;
const RESPONSE: &str = r#"{"model":"llama-3.1-8b-instruct","input":"hello","background":true}"#;

/// Both accounts use the same keys, names and texts.
const SCRIPT: &[Step] = &[
    Ask(200, "GET", "/v1/account", Nothing),
    Once("retry-1", 201, "/v1/requests", Json(request!("one"))),
    Once("retry-1", 201, "/v1/requests", Json(request!("one"))),
    Once("retry-1", 422, "/v1/requests", Json(request!("another"))),
    Ask(200, "POST", "/v1/requests", Lines(concat!(request!("two"), "\nno JSON\n", request!("three"), "\n"))),
    Once(
        "retry-2",
        201,
        "/v1/batches",
        Json(r#"{"requests_ids":["<2>","<4>"],"metadata":{"name":"first"}}"#),
    ),
    Ask(422, "POST", "/v1/batches", Json(r#"{"requests_ids":["<2>"]}"#)),
    Once("retry-3", 200, "/openai/v1/files", Parts(FILE)),
    Ask(200, "POST", "/openai/v1/batches", Json(FILE_BATCH)),
    Ask(200, "POST", "/anthropic/v1/messages/batches", Json(MESSAGES)),
    Fill,
    Ask(200, "POST", "/openai/v1/uploads", Json(UPLOAD)),
    Ask(200, "POST", "/openai/v1/uploads/<9>/cancel", Nothing),
    Ask(200, "POST", "/openai/v1/responses", Json(RESPONSE)),
    Ask(200, "POST", "/v1/requests/<3>/cancel", Nothing),
    Ask(409, "DELETE", "/v1/batches/<5>", Nothing),
    Ask(200, "GET", "/v1/account", Nothing),
    End(RequestStatus::Completed),
    Ask(200, "GET", "/v1/requests?full=true", Nothing),
    Ask(200, "GET", "/v1/batches/<5>/results?after=<2>", Nothing),
    Ask(200, "GET", "/openai/v1/batches/<7>", Nothing),
    Ask(200, "GET", "/v1/batches/<7>/results", Nothing),
    Ask(200, "GET", "/anthropic/v1/messages/batches/<8>/results", Nothing),
    Ask(200, "GET", "/openai/v1/responses/<11>", Nothing),
    Ask(200, "GET", "/openai/v1/responses/<11>/input_items", Nothing),
    Ask(201, "POST", "/exxa/v1/requests", Json(request!("four"))),
    End(RequestStatus::Failed),
    Ask(200, "GET", "/v1/requests?status=failed&full=true", Nothing),
    Ask(200, "DELETE", "/v1/batches/<5>", Nothing),
    Ask(404, "GET", "/v1/requests/<2>", Nothing),
    Ask(200, "DELETE", "/openai/v1/files/<6>", Nothing),
    Ask(200, "GET", "/openai/v1/files", Nothing),
    Ask(200, "GET", "/v1/batches?order=desc", Nothing),
    Ask(200, "GET", "/anthropic/v1/messages/batches", Nothing),
    Ask(200, "GET", "/exxa/v1/requests", Nothing),
    Ask(200, "GET", "/v1/models", Nothing),
    Ask(200, "GET", "/v1/account", Nothing),
];

struct Session {
    account: AccountKey,
    client: Client,
    /// Numbers of identifiers in the order of their appearance.
    names: BTreeMap<String, usize>,
    transcript: Vec<String>,
}

impl Session {
    async fn begin(app: &TestApp, place: usize) -> Self {
        let account = accounts::list(&app.services).await.expect("accounts").remove(place);
        let client = app.new_key(account.id, KeyDraft::PLAIN).await.0;
        Self { account: account.key, client, names: BTreeMap::new(), transcript: Vec::new() }
    }

    async fn take(&mut self, app: &TestApp, step: &Step) {
        match *step {
            Ask(status, method, path, sent) => {
                let answered = self.ask(app, &[], method, path, sent).await;
                assert_eq!(answered, status, "{path}: {:?}", self.transcript.last());
            }
            Once(key, status, path, sent) => {
                let answered = self.ask(app, &[("idempotency-key", key)], "POST", path, sent).await;
                assert_eq!(answered, status, "{path}: {:?}", self.transcript.last());
            }
            Fill => drop(fill_account(&app.services, self.account).await.expect("a filling")),
            End(status) => {
                // In the order of creation: the queue's order differs between services.
                let mut leases = app.lease_all_of(self.account).await;
                leases.sort_unstable_by_key(|lease| lease.key.position.seq);
                for lease in &leases {
                    assert!(app.settle(lease, status).await);
                }
            }
        }
    }

    /// Sends a call and records the answer; returns the status.
    async fn ask(
        &mut self,
        app: &TestApp,
        headers: &[(&str, &str)],
        method: &str,
        path: &str,
        sent: Sent,
    ) -> u16 {
        let fill = |text: &str| {
            let named =
                |text: String, (id, number): (&String, &usize)| text.replace(&format!("<{number}>"), id);
            self.names.iter().fold(text.to_owned(), named)
        };
        let (kind, body) = sent.write();
        let headers = [&[("content-type", kind)], headers].concat();
        let headers = headers.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let call = Call { method: method.to_owned(), path: fill(path), headers, body: fill(&body) };
        let answered = Caller::Program(self.client.clone()).send(&call).await;
        let name = |id: &str| {
            if id.starts_with("call_") {
                return "CALL".to_owned();
            }
            let next = self.names.len() + 1;
            format!("<{}>", self.names.entry(id.to_owned()).or_insert(next))
        };
        // Answers in Anthropic's dialect contain the address.
        let text = told(&answered, name).replace(&app.address.to_string(), "HOST");
        self.transcript.push(format!("{method} {path}\n{text}"));
        answered.status
    }
}

/// The order of the two scripts' steps.
enum Order {
    Turns,
    /// A random order from this seed.
    Drawn(u64),
    /// Both accounts' steps concurrently.
    AtOnce,
}

async fn alone(place: usize) -> Vec<String> {
    let app = TestApp::start().await;
    let mut session = Session::begin(&app, place).await;
    for step in SCRIPT {
        session.take(&app, step).await;
    }
    app.stop().await;
    session.transcript
}

async fn together(order: Order) -> [Vec<String>; 2] {
    let app = TestApp::start().await;
    let mut sessions = [Session::begin(&app, 0).await, Session::begin(&app, 1).await];
    let mut places = [0, 0];
    let mut state = if let Order::Drawn(seed) = order { seed } else { 0 };
    while places.iter().any(|place| *place < SCRIPT.len()) {
        if matches!(order, Order::AtOnce) {
            let [one, other] = &mut sessions;
            let step = &SCRIPT[places[0]];
            join(one.take(&app, step), other.take(&app, step)).await;
            places = places.map(|place| place + 1);
            continue;
        }
        state = match order {
            Order::Drawn(_) => {
                state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407)
            }
            _ => state ^ (1 << 63),
        };
        let whose = (state >> 63) as usize;
        let whose = if places[whose] < SCRIPT.len() { whose } else { 1 - whose };
        sessions[whose].take(&app, &SCRIPT[places[whose]]).await;
        places[whose] += 1;
    }
    app.stop().await;
    sessions.map(|session| session.transcript)
}

#[tokio::test]
async fn two_accounts_at_once_are_told_what_each_is_told_alone() {
    let alone = [alone(0).await, alone(1).await];
    for order in [Order::Turns, Order::Drawn(7), Order::Drawn(77), Order::AtOnce] {
        let seed = if let Order::Drawn(seed) = order { seed } else { 0 };
        let together = together(order).await;
        for (alone, together) in alone.iter().zip(&together) {
            for (alone, together) in alone.iter().zip(together) {
                assert_eq!(alone, together, "seed {seed}");
            }
            assert_eq!(alone.len(), together.len());
        }
    }
}
