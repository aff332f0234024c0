//! Webhooks are delivered although the service is killed, and one account's slow receiver affects no other account.
//!
//! `OVERNIGHT_SOAK_REQUESTS` sets the number of events.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use overnight_app::{Services, accounts, api_keys, webhooks};
use overnight_client::Client;
use overnight_domain::ids::AccountId;
use overnight_store::outbox::{EventRecord, EventState};
use overnight_testkit::engine::{SimConfig, SimEngine};
use overnight_testkit::postgres::{Cluster, ClusterOptions};
use overnight_testkit::proof;
use overnight_testkit::receiver::{Received, Receiver};
use standardwebhooks::Webhook;
use tokio::task::JoinSet;

use super::process::{self, Service, pause};
use super::requests_count;

const WRITERS: usize = 16;
/// Nine tries as by default, in seconds instead of days.
const QUICK: &str = "[webhooks]\nallow_insecure_targets = true\n\
    retries = [\"100ms\", \"200ms\", \"300ms\", \"400ms\", \"500ms\", \"600ms\", \"700ms\", \"800ms\"]\n";
/// The answers of ten receivers, three of which fail in different ways.
const PATHS: [&str; 10] =
    ["/ok/0", "/ok/1", "/ok/2", "/ok/3", "/ok/4", "/ok/5", "/ok/6", "/flaky/3", "/status/500", "/status/410"];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_event_is_delivered_or_given_up_though_the_service_is_killed() {
    deliver("webhooks-sqlite", "", requests_count(5_000), 20).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_event_is_delivered_or_given_up_on_postgresql_though_the_service_is_killed() {
    let cluster = Cluster::start(&ClusterOptions::default()).expect("a PostgreSQL");
    let url = cluster.database("overnight").expect("a database");
    deliver(
        "webhooks-postgresql",
        &format!("database_url = \"{url}\"\nlease = \"1s\"\n"),
        requests_count(5_000) / 5,
        5,
    )
    .await;
}

async fn deliver(attack: &str, settings: &str, count: usize, kills: usize) {
    let engine = SimEngine::start(SimConfig::default()).expect("an engine");
    let receiver = Receiver::start().await.expect("a receiver");
    let of_engine = process::settings_of_engine(&engine.base_url(), "sim-model");
    let mut service = Service::start(&format!("{settings}{}", with_webhooks(&of_engine))).await;
    let operator = service.operator().await;
    let account = accounts::list(&operator).await.expect("the accounts")[0].id;
    let acknowledged = Arc::<AtomicUsize>::default();
    let mut writers = JoinSet::new();
    for writer in 0..WRITERS {
        let urls = PATHS.map(|path| receiver.url(path));
        writers.spawn(post(service.client(), urls, Arc::clone(&acknowledged), writer, count));
    }
    for kill in 1..=kills {
        // While receivers fail, there are twice as many calls as events.
        wait_for(|| receiver.count() >= count * kill / (kills + 1)).await;
        service.kill_and_restart().await;
        if kill % 5 == 0 {
            service.assert_audited().await;
        }
    }
    while let Some(ended) = writers.join_next().await {
        ended.expect("a writer ends");
    }
    let events = every_end(&operator, account, acknowledged.load(Ordering::Relaxed)).await;
    service.assert_audited().await;
    let secrets = webhooks::secrets(&operator, account).await.expect("the secrets");
    check(attack, &events, &receiver.received(), &secrets[0].secret.reveal());
}

/// Inserts the section after the top-level settings.
fn with_webhooks(of_engine: &str) -> String {
    of_engine.replace("[[models]]", &format!("{QUICK}[[models]]"))
}

async fn post(
    client: Client,
    urls: [String; 10],
    acknowledged: Arc<AtomicUsize>,
    writer: usize,
    count: usize,
) {
    for number in (writer..count).step_by(WRITERS) {
        let url = &urls[number % urls.len()];
        let body = format!(
            r#"{{"request_body":{{"model":"sim","max_tokens":4,"messages":[{{"role":"user","content":"{number}"}}]}},"webhook":"{url}"}}"#
        );
        // A create without an answer may be stored or not, and is sent again.
        while client.create_request_raw(body.clone()).await.is_err() {
            pause(20).await;
        }
        acknowledged.fetch_add(1, Ordering::Relaxed);
    }
}

async fn wait_for(mut is_so: impl FnMut() -> bool) {
    for _ in 0..30_000 {
        if is_so() {
            return;
        }
        pause(10).await;
    }
    panic!("it did not come about within five minutes");
}

async fn list_all(operator: &Services, account: AccountId, state: Option<EventState>) -> Vec<EventRecord> {
    let (mut events, mut before) = (Vec::new(), None);
    loop {
        let page = webhooks::list_events(operator, Some(account), state, before, 10_000).await;
        let page = page.expect("the events");
        before = page.rest();
        events.extend(page.rows);
        if before.is_none() {
            return events;
        }
    }
}

/// Waits until at least `count` events have ended and none is live.
async fn every_end(operator: &Services, account: AccountId, count: usize) -> Vec<EventRecord> {
    for _ in 0..3_000 {
        if list_all(operator, account, Some(EventState::Live)).await.is_empty() {
            let events = list_all(operator, account, None).await;
            if events.len() >= count {
                return events;
            }
        }
        pause(100).await;
    }
    panic!("an event is live still after five minutes");
}

/// Each event has one name and one body, every signature is valid, delivered events were received, and dead letters had the configured
/// number of tries.
fn check(attack: &str, events: &[EventRecord], received: &[Received], secret: &str) {
    let oracle = Webhook::new(secret).expect("a secret");
    let mut heard: HashMap<&str, Vec<&Received>> = HashMap::new();
    for call in received {
        oracle.verify(&call.body, &call.headers).unwrap_or_else(|error| panic!("{error}: {call:?}"));
        heard.entry(call.id()).or_default().push(call);
    }
    let mut subjects = HashMap::new();
    let mut ends: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for event in events {
        let id = event.id.to_string();
        let calls = heard.remove(id.as_str()).unwrap_or_else(|| panic!("nobody heard of {event:?}"));
        assert!(calls.iter().all(|call| call.body == calls[0].body), "{id} is told in several ways");
        let subject = event.subject.clone().expect("a request");
        assert!(
            String::from_utf8_lossy(&calls[0].body).contains(&subject),
            "{id} is told of another request"
        );
        assert!(subjects.insert(subject, id.clone()).is_none(), "a request has two events");
        let was_taken = calls.iter().any(|call| call.answer.is_success());
        let state = match event.state {
            EventState::Delivered => "delivered",
            EventState::Exhausted => "exhausted",
            EventState::Live => panic!("{event:?} is live"),
        };
        assert_eq!(was_taken, event.state == EventState::Delivered, "{event:?}: {calls:?}");
        let least = match calls[0].path.as_str() {
            "/status/500" => 9,
            "/flaky/3" => 4,
            _ => 1,
        };
        assert!(calls.len() >= least, "{event:?} was tried {} times", calls.len());
        let path = PATHS.into_iter().find(|path| *path == calls[0].path).expect("a path");
        *ends.entry((path.split('/').nth(1).unwrap_or_default(), state)).or_default() += 1;
    }
    assert!(heard.is_empty(), "events that nobody knows of: {:?}", heard.keys());
    eprintln!("ends {ends:?}");
    let (events, calls) = (events.len(), received.len());
    let figure = format!(
        "{events} events, each delivered or given up; {calls} calls, each signed, with one identifier and the same bytes"
    );
    proof::record(attack, &figure);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_receiver_of_one_account_delays_nobody_else() {
    const SLOW: usize = 300;
    const QUICK_ACCOUNTS: usize = 8;
    const EACH: usize = 100;
    let engine = SimEngine::start(SimConfig::default()).expect("an engine");
    let receiver = Receiver::start().await.expect("a receiver");
    let of_engine = process::settings_of_engine(&engine.base_url(), "sim-model");
    let service = Service::start(&with_webhooks(&of_engine)).await;
    let operator = service.operator().await;
    let slow = service.client();
    for number in 0..SLOW {
        send(&slow, number, &receiver.url("/hang")).await;
    }
    let mut quick = Vec::new();
    let mut senders = JoinSet::new();
    for number in 0..QUICK_ACCOUNTS {
        let account = accounts::create(&operator, &format!("quick {number}")).await.expect("an account");
        accounts::activate(&operator, account.id).await.expect("an activation");
        let credits = "1000".parse().expect("credits");
        accounts::grant(&operator, account.id, credits, None).await.expect("a grant");
        let key =
            api_keys::create(&operator, account.id, api_keys::KeyDraft::PLAIN).await.expect("a key").key;
        quick.push(account.id);
        let (client, url) = (service.client_with(&key), receiver.url(&format!("/ok/{number}")));
        senders.spawn(async move {
            for number in 0..EACH {
                send(&client, number, &url).await;
            }
        });
    }
    while let Some(sent) = senders.join_next().await {
        sent.expect("a sender ends");
    }
    let mut delays = Vec::new();
    for account in quick {
        let events = every_end(&operator, account, EACH).await;
        assert!(events.iter().all(|event| event.state == EventState::Delivered && event.tries == 1));
        delays.extend(events.iter().map(|event| (event.id.to_string(), event.created_at)));
    }
    let calls = receiver.received();
    let hanging = calls.iter().filter(|call| call.path == "/hang").count();
    // They use all the connections that they may have, and none is a dead letter yet.
    assert_eq!(hanging, 8, "calls hang");
    let heard: HashMap<&str, i64> = calls.iter().map(|call| (call.id(), call.at)).collect();
    let mut delays: Vec<i64> = delays.iter().map(|(id, at)| heard[id.as_str()] - at).collect();
    delays.sort_unstable();
    let at = |per_cent: usize| delays[(delays.len() - 1) * per_cent / 100];
    eprintln!(
        "{} events of {QUICK_ACCOUNTS} accounts while {hanging} calls of another hang: told after {} ms (median), \
         {} ms (99 of 100), {} ms (the last)",
        delays.len(),
        at(50),
        at(99),
        at(100)
    );
    receiver.let_go();
    let account = accounts::list(&operator).await.expect("the accounts")[0].id;
    let events = every_end(&operator, account, SLOW).await;
    assert!(events.iter().all(|event| event.state == EventState::Delivered));
    service.assert_audited().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_service_that_is_asked_to_stop_while_its_database_is_away_stops() {
    let engine = SimEngine::start(SimConfig::default()).expect("an engine");
    let receiver = Receiver::start().await.expect("a receiver");
    let mut cluster = Cluster::start(&ClusterOptions::default()).expect("a PostgreSQL");
    let url = cluster.database("overnight").expect("a database");
    let of_engine = process::settings_of_engine(&engine.base_url(), "sim-model");
    let settings = format!("database_url = \"{url}\"\ndrain = \"1s\"\n{}", with_webhooks(&of_engine));
    let mut service = Service::start(&settings).await;
    send(&service.client(), 1, &receiver.url("/hang")).await;
    wait_for(|| receiver.count() == 1).await;
    cluster.stop_immediate();
    receiver.let_go();
    pause(200).await;
    service.signal("TERM");
    service.ended().await;
}

async fn send(client: &Client, number: usize, url: &str) {
    let body = format!(
        r#"{{"request_body":{{"model":"sim","max_tokens":4,"messages":[{{"role":"user","content":"{number}"}}]}},"webhook":"{url}"}}"#
    );
    client.create_request_raw(body).await.expect("a request");
}
