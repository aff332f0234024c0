//! Every loop of a service is broken by name: it ends, or it panics. A new loop fails the first test until it is in the list.

mod items;
mod store_files;

use std::path::Path;
use std::time::Duration;

use futures_util::{StreamExt, stream};
use overnight_base::supervision::Breakage;
use overnight_config::Sources;
use overnight_testkit::postgres::Cluster;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::*;

/// The loops of a service with a separate metrics address, traces and an embedded engine.
const LOOPS: &[&str] = &[
    "account_closer",
    "account_eraser",
    "audit_log_retention",
    "batch_cancel_resumer",
    "batch_deletion_resumer",
    "cache_sizes",
    "clock_follower",
    "dead_node_reaper",
    "deadline_slack",
    "deliverer",
    "embedded_engine",
    "engine_history",
    "engine_names",
    "expirer",
    "files",
    "filler",
    "heartbeat",
    "http",
    "idempotency_keys",
    "key_usage_flusher",
    "left_batches",
    "listener",
    "live_blocks",
    "log_truncation",
    "low_credits",
    "metrics_listener",
    "metrics_upkeep",
    "monthly_grants",
    "objects",
    "payment_checks",
    "requests_waiting",
    "retention",
    "scheduler",
    "settling",
    "store_answers",
    "store_checkpoint",
    "store_files",
    "store_reader",
    "store_writer",
    "traces",
];

/// Without these no probe is answered, which is a result too.
const UNANSWERED: [&str; 2] = ["http", "listener"];

/// The time limit for a service to fail, and to stop.
const SECONDS_10: Duration = Duration::from_secs(10);

/// Services that run concurrently.
const AT_ONCE: usize = 8;

fn config(folder: &Path, more: &[(&str, &str)]) -> Config {
    let engines =
        r#"[{ name = "e", kind = "embedded", engine_path = "/nowhere", model_path = "/nowhere.gguf" }]"#;
    config_with(folder, engines, more)
}

fn config_with(folder: &Path, engines: &str, more: &[(&str, &str)]) -> Config {
    let environment = [("OVERNIGHT_MODELS", r#"[{ name = "m" }]"#), ("OVERNIGHT_ENGINES", engines)];
    let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    let mut flags: Vec<_> = more.iter().map(owned).collect();
    flags.push(("data_dir".to_owned(), folder.display().to_string()));
    let given = [
        ("listen", "127.0.0.1:0"),
        ("metrics_listen", "127.0.0.1:0"),
        ("traces.endpoint", "http://127.0.0.1:9"),
    ];
    flags.extend(given.iter().map(owned));
    let environment = environment.iter().map(owned).collect();
    Config::load(&Sources { file: None, environment, flags }).expect("settings")
}

/// The answer to a call, with its head; `None` if there is none.
async fn call(service: &Service, line: &str, key: &str, body: &str) -> Option<String> {
    let mut stream = TcpStream::connect(service.address()).await.ok()?;
    let text = format!(
        "{line} HTTP/1.1\r\nhost: it\r\nconnection: close\r\nauthorization: Bearer {key}\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(text.as_bytes()).await.ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.ok()?;
    (!answer.is_empty()).then_some(answer)
}

/// Creates a request, and returns its identifier.
async fn create(service: &Service, key: &str) -> String {
    let body = r#"{"request_body":{"model":"m","messages":[{"role":"user","content":"Hello"}]}}"#;
    let answer = call(service, "POST /v1/requests", key, body).await.expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 201"), "{answer}");
    let (_, id) = answer.split_once("\"req_").expect("an identifier");
    format!("req_{}", id.split('"').next().expect("its end"))
}

/// Breaks a loop of a service that has accepted a request. The probe reports it, the service stops in time, and the next one has the
/// request.
async fn break_loop(name: &'static str, breakage: Breakage, settings: &[(&str, &str)]) {
    let folder = tempfile::tempdir().expect("a folder");
    let service = Service::start(config(folder.path(), settings)).await.expect("a service");
    let key = service.bootstrapped().expect("a first start").key.clone();
    let id = create(&service, &key).await;
    let ready = call(&service, "GET /readyz", "", "").await.expect("an answer");
    assert!(ready.starts_with("HTTP/1.1 200"), "{name}: {ready}");
    let case = format!("{name}, {breakage:?}");
    service.services().supervisor.break_loop(name, breakage);
    let failure = timeout(SECONDS_10, service.failed()).await.expect(&case);
    assert_eq!(failure.name, name, "{failure}");
    let probed = timeout(SECONDS_10, call(&service, "GET /readyz", "", "")).await.expect(&case);
    match probed {
        Some(answer) => assert!(
            answer.starts_with("HTTP/1.1 503") && answer.contains(&format!("`{name}`")),
            "{case}: {answer}"
        ),
        None => assert!(UNANSWERED.contains(&name), "{case}: no answer"),
    }
    timeout(SECONDS_10, service.shutdown()).await.expect(&case);
    let again = Service::start(config(folder.path(), settings)).await.expect(&case);
    let answer = call(&again, &format!("GET /v1/requests/{id}"), &key, "").await.expect(&case);
    assert!(answer.starts_with("HTTP/1.1 200"), "{case}: {answer}");
    again.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn every_loop_of_a_service_is_in_the_list_of_those_that_a_test_breaks() {
    let folder = tempfile::tempdir().expect("a folder");
    let service = Service::start(config(folder.path(), &[])).await.expect("a service");
    // Its listeners are loops of a different task, which exist once it answers.
    call(&service, "GET /readyz", "", "").await.expect("an answer");
    assert_eq!(service.services().supervisor.names(), LOOPS);
    service.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_loop_that_ends_or_panics_makes_the_service_not_ready_and_stops_it_without_a_loss() {
    let cases = LOOPS.iter().flat_map(|name| [(*name, Breakage::End), (*name, Breakage::Panic)]);
    stream::iter(cases)
        .for_each_concurrent(AT_ONCE, |(name, breakage)| break_loop(name, breakage, &[]))
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn so_does_the_loop_that_only_a_service_with_tls_has() {
    let folder = tempfile::tempdir().expect("a folder");
    let key = rcgen::KeyPair::generate().expect("a key");
    let params = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).expect("a name");
    let certificate = params.self_signed(&key).expect("a certificate");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let files = [
        ("tls.cert", path("cert.pem"), certificate.pem()),
        ("tls.key", path("key.pem"), key.serialize_pem()),
    ];
    files.iter().for_each(|(_, path, text)| std::fs::write(path, text).expect("a file"));
    let settings = files.each_ref().map(|(name, path, _)| (*name, path.as_str()));
    for breakage in [Breakage::End, Breakage::Panic] {
        let service = Service::start(config(folder.path(), &settings)).await.expect("a service");
        service.services().supervisor.break_loop("certificate", breakage);
        let failure = timeout(SECONDS_10, service.failed()).await.expect("a failure");
        assert_eq!(failure.name, "certificate");
        timeout(SECONDS_10, service.shutdown()).await.expect("a stop");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn so_does_a_loop_that_only_nodes_of_postgresql_have() {
    for (case, breakage) in [Breakage::End, Breakage::Panic].into_iter().enumerate() {
        for name in ["node_hints", "store_writer"] {
            let url = Cluster::shared().database(&format!("supervised_{name}_{case}")).expect("a database");
            break_loop(name, breakage, &[("database_url", &url)]).await;
        }
    }
}

#[tokio::test]
async fn a_file_of_certificates_that_is_missing_stops_the_start_though_nothing_is_called_by_https() {
    let folder = tempfile::tempdir().expect("a folder");
    let settings = [("outgoing.ca_file", "/nowhere/ca.pem")];
    let error = Service::start(config(folder.path(), &settings)).await.err().expect("no service").to_string();
    assert!(error.starts_with("[outgoing]: `ca_file` /nowhere/ca.pem: "), "{error}");
}
