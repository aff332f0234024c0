//! The ledger balances: many accounts create, cancel, fail and complete while the service is killed.
//!
//! `OVERNIGHT_SOAK_REQUESTS` sets the number of creates and cancels.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use overnight_app::{Services, accounts, api_keys};
use overnight_client::{Client, Error};
use overnight_domain::money::{Credits, EntryKind};
use overnight_store::identity::accounts::Account;
use overnight_store::ledger::Entry;
use overnight_testkit::engine::{SimConfig, SimEngine};
use overnight_testkit::postgres::{Cluster, ClusterOptions};
use overnight_testkit::proof;
use overnight_wire::native::requests::{RequestFilter, RequestStatus};
use tokio::task::JoinSet;

use super::process::{self, Service, pause};
use super::requests_count;

const ACCOUNTS: usize = 50;
/// The accounts whose credits run out.
const POOR: usize = 10;
const WRITERS: usize = 16;
const KILLS: usize = 5;

/// One credit for a thousand tokens read or five hundred written: a request holds about a tenth of one.
const PRICES: &str = "input_price = \"1000\"\noutput_price = \"2000\"\n";

/// The writers' calls and the service's answers.
#[derive(Default)]
struct Tally {
    sent: AtomicUsize,
    created: AtomicUsize,
    refused: AtomicUsize,
    cancelled: AtomicUsize,
    unknown: AtomicUsize,
}

/// An account with its clients.
struct Customer {
    account: Account,
    client: Client,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_ledger_balances_though_the_service_is_killed() {
    balance("ledger-sqlite", "", requests_count(100_000)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_ledger_balances_on_postgresql_though_the_service_is_killed() {
    let cluster = Cluster::start(&ClusterOptions::default()).expect("a PostgreSQL");
    let url = cluster.database("overnight").expect("a database");
    balance(
        "ledger-postgresql",
        &format!("database_url = \"{url}\"\nlease = \"1s\"\n"),
        requests_count(100_000) / 5,
    )
    .await;
}

async fn balance(attack: &str, settings: &str, count: usize) {
    let engine = SimEngine::start(SimConfig::default()).expect("an engine");
    engine.tune(|tunables| tunables.base_latency_ms = 3);
    let of_engine = process::settings_of_engine(&engine.base_url(), "sim-model");
    let of_engine =
        of_engine.replace("name = \"sim\"\n[[engines]]", &format!("name = \"sim\"\n{PRICES}[[engines]]"));
    let mut service = Service::start(&format!("{settings}{of_engine}")).await;
    let operator = service.operator().await;
    let customers = Arc::new(customers(&operator, &service).await);
    let tally = Arc::<Tally>::default();
    let mut writers = JoinSet::new();
    for writer in 0..WRITERS {
        writers.spawn(write(Arc::clone(&customers), Arc::clone(&tally), writer, count));
    }
    for kill in 1..=KILLS {
        while tally.sent.load(Ordering::Relaxed) < count * kill / (KILLS + 1) {
            pause(5).await;
        }
        service.kill_and_restart().await;
        service.assert_audited().await;
        assert_nobody_overdrew(&operator).await;
    }
    while let Some(ended) = writers.join_next().await {
        ended.expect("a writer ends");
    }
    wait_for_the_end(&operator).await;
    service.assert_audited().await;
    check(attack, &operator, &customers, &tally).await;
}

async fn customers(operator: &Services, service: &Service) -> Vec<Customer> {
    let mut customers = Vec::with_capacity(ACCOUNTS);
    for number in 0..ACCOUNTS {
        let made = accounts::create(operator, &format!("account {number}")).await.expect("an account");
        accounts::activate(operator, made.id).await.expect("an activation");
        let credits = if number < POOR { "5" } else { "100000" }.parse().expect("credits");
        accounts::grant(operator, made.id, credits, Some("the first")).await.expect("a grant");
        let key = api_keys::create(operator, made.id, api_keys::KeyDraft::PLAIN).await.expect("a key").key;
        customers.push(Customer { account: made, client: service.client_with(&key) });
    }
    customers
}

/// Random numbers that a seed reproduces.
fn draw(state: &mut u64, below: u64) -> usize {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    usize::try_from((*state >> 33) % below).unwrap_or(0)
}

async fn write(customers: Arc<Vec<Customer>>, tally: Arc<Tally>, writer: usize, count: usize) {
    let mut chance = writer as u64 + 1;
    let mut open: Vec<(usize, String)> = Vec::new();
    while tally.sent.fetch_add(1, Ordering::Relaxed) < count {
        if draw(&mut chance, 6) == 0
            && let Some((customer, id)) = open.pop()
        {
            match customers[customer].client.cancel_request(&id).await {
                Ok(_) => _ = tally.cancelled.fetch_add(1, Ordering::Relaxed),
                Err(Error::Api { status: 409, .. }) => {}
                Err(_) => _ = tally.unknown.fetch_add(1, Ordering::Relaxed),
            }
            continue;
        }
        let customer = draw(&mut chance, ACCOUNTS as u64);
        let what = ["", "", "", "", "", "[[sim:status=400]]", "[[sim:usage_inflated]]"][draw(&mut chance, 7)];
        let body = format!(
            r#"{{"request_body":{{"model":"sim","max_tokens":16,"messages":[{{"role":"user","content":"{writer} {} {what}"}}]}}}}"#,
            tally.sent.load(Ordering::Relaxed)
        );
        match customers[customer].client.create_request_raw(body).await {
            Ok(created) => {
                tally.created.fetch_add(1, Ordering::Relaxed);
                open.push((customer, created.id));
                let oldest = open.len().saturating_sub(8);
                open.drain(..oldest);
            }
            Err(Error::Api { status: 402, .. }) => _ = tally.refused.fetch_add(1, Ordering::Relaxed),
            Err(_) => {
                tally.unknown.fetch_add(1, Ordering::Relaxed);
                pause(10).await;
            }
        }
    }
}

async fn assert_nobody_overdrew(operator: &Services) {
    for account in accounts::list(operator).await.expect("the accounts") {
        assert!(account.available() >= Credits::ZERO && account.held >= Credits::ZERO, "{account:?}");
    }
}

/// Waits until nothing is held, so everything has ended.
async fn wait_for_the_end(operator: &Services) {
    for _ in 0..3_000 {
        let all = accounts::list(operator).await.expect("the accounts");
        if all.iter().all(|account| account.held == Credits::ZERO) {
            return;
        }
        pause(100).await;
    }
    panic!("something is still held after five minutes");
}

async fn ledger_of(operator: &Services, account: &Account) -> Vec<Entry> {
    let (mut entries, mut before) = (Vec::new(), None);
    loop {
        let page = accounts::list_entries(operator, account, None, before, 10_000).await;
        let page = page.expect("the ledger");
        before = page.rest();
        entries.extend(page.rows);
        if before.is_none() {
            return entries;
        }
    }
}

/// Checks one charge for each completed request, none for others, and balances that equal the grants less the charges.
async fn check(attack: &str, operator: &Services, customers: &[Customer], tally: &Tally) {
    let mut ends: HashMap<RequestStatus, usize> = HashMap::new();
    let mut charged = 0;
    for customer in customers {
        let mut completed = Vec::new();
        let mut lines = customer.client.list_requests(&RequestFilter::default()).await.expect("a list");
        while let Some(line) = lines.next().await {
            let line = line.expect("a line");
            *ends.entry(line.status).or_default() += 1;
            if line.status == RequestStatus::Completed {
                completed.push(line.id);
            }
        }
        let entries = ledger_of(operator, &customer.account).await;
        let charges = entries.iter().filter(|entry| entry.kind == EntryKind::Charge);
        let mut named: Vec<String> =
            charges.map(|entry| entry.request.expect("a request").to_string()).collect();
        named.sort_unstable();
        completed.sort_unstable();
        assert!(named == completed, "{}: one charge for each that completed", customer.account.id);
        charged += named.len();
        let now = accounts::get(operator, customer.account.id).await.expect("the account");
        assert_eq!(now.balance, entries.iter().map(|entry| entry.amount).sum(), "{}", now.id);
        assert!(now.available() >= Credits::ZERO);
    }
    let count = |counter: &AtomicUsize| counter.load(Ordering::Relaxed);
    let [created, refused, cancelled, unknown] =
        [&tally.created, &tally.refused, &tally.cancelled, &tally.unknown].map(count);
    let all: usize = ends.values().sum();
    assert!((created..=created + unknown).contains(&all), "{all} stored, {created} acknowledged");
    for state in [RequestStatus::Completed, RequestStatus::Failed, RequestStatus::Cancelled] {
        assert!(ends.get(&state).is_some_and(|count| *count > 0), "{state:?} never came about");
    }
    assert!(refused > 0, "nobody came to the end of their credits");
    eprintln!("{unknown} unanswered; ends {ends:?}");
    let figure = format!(
        "{created} requests acknowledged, {refused} refused for want of credits, {cancelled} cancelled; {charged} completed and charged once"
    );
    proof::record(attack, &figure);
}
