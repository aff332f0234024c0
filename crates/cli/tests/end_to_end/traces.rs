//! Traces of the real program as a collector receives them.

use std::collections::HashSet;
use std::fs;
use std::process::Command;

use overnight_testkit::engine::SimConfig;
use overnight_testkit::postgres::{Cluster, ClusterOptions};
use overnight_testkit::receiver::Receiver;
use overnight_testkit::traces::{ReceivedSpan, spans};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::support::{Running, World, chat, wait_until};

const CALLER: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const SECRET: &str = "a prompt that no trace may hold";

struct Traced {
    world: World,
    collector: Receiver,
    _runtime: Runtime,
}

impl Traced {
    fn new(settings: &str) -> Self {
        let world = World::with(SimConfig::default());
        let runtime = Runtime::new().unwrap();
        let collector = runtime.block_on(Receiver::start()).unwrap();
        let traces = format!(
            "[webhooks]\nallow_insecure_targets = true\n[traces]\nendpoint = \"{}\"\nheaders_env = \"COLLECTOR\"\n{settings}",
            collector.url("")
        );
        world.write("overnight.toml", &format!("{}{traces}", world.read("overnight.toml")));
        Self { world, collector, _runtime: runtime }
    }

    fn serve(&self, database: Option<&str>) -> Running {
        let mut command = self.world.command("serve --quiet");
        if let Some(url) = database {
            command.env("OVERNIGHT_DATABASE_URL", url);
        }
        let _ = fs::remove_file(self.world.path("data/serve.json"));
        self.world.serve_by(command.env("COLLECTOR", "x-key=of%20ours").stderr(std::process::Stdio::piped()))
    }

    fn url(&self, path: &str) -> String {
        let serving: Value = serde_json::from_str(&self.world.read("data/serve.json")).unwrap();
        format!("{}{path}", serving["url"].as_str().unwrap())
    }

    fn key(&self) -> String {
        format!("x-api-key: {}", self.world.read("data/api-key").trim())
    }

    /// Creates a request as a caller with this `traceparent`; returns the identifiers of the call and of the request.
    fn create(&self, content: &str, traceparent: &str) -> (String, String) {
        let (url, key) = (self.url("/v1/requests"), self.key());
        let body = json!({"request_body": chat(content), "metadata": {"secret": SECRET},
            "webhook": self.collector.url("/hook")});
        let traceparent = format!("traceparent: {traceparent}");
        let mut curl = Command::new("curl");
        curl.args(["-sf", "-D", "-", &url, "-H", &key, "-H", &traceparent, "--json", &body.to_string()]);
        let answer = String::from_utf8(curl.output().unwrap().stdout).unwrap();
        let call = answer.lines().find_map(|line| line.strip_prefix("x-request-id: ")).unwrap().to_owned();
        let id = answer.split("\"id\":\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
        (call.trim().to_owned(), id)
    }

    fn spans(&self) -> Vec<ReceivedSpan> {
        spans(&self.collector.received()).unwrap()
    }

    fn wait_for(&self, name: &str) -> ReceivedSpan {
        wait_until(name, || self.spans().iter().any(|span| span.name == name));
        self.named(name).remove(0)
    }

    fn named(&self, name: &str) -> Vec<ReceivedSpan> {
        self.spans().into_iter().filter(|span| span.name == name).collect()
    }
}

/// Follows the trace of a request from a caller's create, through the death of the service, to its end and its webhook.
fn follows_a_request_over_a_restart(database: Option<&str>) {
    let traced = Traced::new("sample = \"0%\"\n");
    let settings = traced.world.read("overnight.toml");
    let engine = traced.world.engine.base_url();
    // No engine answers at that port.
    traced.world.write("overnight.toml", &settings.replace(&engine, "http://127.0.0.1:9/v1"));
    let serving = traced.serve(database);
    let (call, request) = traced.create(SECRET, CALLER);
    let failed = traced.wait_for("chat m");
    assert!(failed.is_error && failed.attribute("error.type") == "connect", "{failed:?}");
    serving.kill();
    traced.world.write("overnight.toml", &settings);
    let serving = traced.serve(database);
    let settled = traced.wait_for("settle");
    let delivered = traced.wait_for("deliver webhook");
    serving.signal("TERM");
    assert_eq!(serving.end().code, 0);
    let server = traced.named("POST /v1/requests").remove(0);
    assert_eq!((&*server.trace, &*server.parent, server.kind), (TRACE, "b7ad6b7169203331", 2));
    assert_eq!(server.attribute("overnight.call.id"), call);
    let answered = traced.named("chat m").into_iter().find(|span| !span.is_error).unwrap();
    for (name, value) in [
        ("gen_ai.operation.name", "chat"),
        ("gen_ai.request.model", "m"),
        ("gen_ai.usage.output_tokens", "4"),
        ("gen_ai.response.finish_reasons", "[\"length\"]"),
        ("overnight.engine.name", "sim"),
        ("overnight.request.id", &*request),
    ] {
        assert_eq!(answered.attribute(name), value, "{name}: {answered:?}");
    }
    assert!(answered.attribute("gen_ai.usage.input_tokens").parse::<u32>().unwrap() > 0);
    let sent: HashSet<String> = traced.world.engine.traceparents().into_iter().collect();
    assert!(sent.contains(&format!("00-{TRACE}-{}-01", answered.id)), "{sent:?}");
    let hook = traced.collector.received().into_iter().find(|call| call.path == "/hook").unwrap();
    assert_eq!(hook.header("traceparent"), format!("00-{TRACE}-{}-01", delivered.id));
    let waits = traced.named("wait");
    assert!(
        waits.len() >= 2 && waits.iter().all(|wait| wait.time.0 / 1_000_000 >= server.time.0 / 1_000_000)
    );
    assert_eq!(settled.attribute("overnight.request.status"), "completed");
    assert!(answered.time.1 <= settled.time.1 && !settled.is_error);
    for span in traced.spans().iter().filter(|span| span.id != server.id) {
        assert_eq!((&*span.trace, &span.parent), (TRACE, &server.id), "{span:?}");
    }
    for export in traced.collector.received().iter().filter(|call| call.path == "/v1/traces") {
        let body = String::from_utf8_lossy(&export.body);
        assert!(!body.contains("prompt that") && !body.contains("on_live_"), "{body}");
        assert_eq!(export.header("x-key"), "of ours");
    }
}

#[test]
fn a_trace_goes_from_the_call_over_a_restart_to_the_settle_and_the_webhook() {
    follows_a_request_over_a_restart(None);
}

#[test]
fn a_trace_goes_from_the_call_over_a_restart_to_the_settle_on_postgresql() {
    let cluster = Cluster::start(&ClusterOptions::default()).unwrap();
    let url = cluster.database("overnight").unwrap();
    follows_a_request_over_a_restart(Some(&url));
}

#[test]
fn a_request_out_of_a_file_has_a_trace_of_its_own() {
    let traced = Traced::new("");
    let serving = traced.serve(None);
    let line = |number: u32| json!({"custom_id": number.to_string(), "method": "POST", "url": "/v1/chat/completions", "body": chat(SECRET)});
    traced.world.write("batch.jsonl", &format!("{}\n{}\n", line(1), line(2)));
    let curl = |path: &str, arguments: [&str; 4]| -> Value {
        let mut curl = Command::new("curl");
        curl.args(["-sf", &traced.url(path), "-H", &traced.key()]).args(arguments);
        serde_json::from_slice(&curl.current_dir(traced.world.folder.path()).output().unwrap().stdout)
            .unwrap()
    };
    let file = curl("/openai/v1/files", ["-F", "purpose=batch", "-F", "file=@batch.jsonl"]);
    let batch =
        json!({"input_file_id": file["id"], "endpoint": "/v1/chat/completions", "completion_window": "24h"});
    curl("/openai/v1/batches", ["--json", &batch.to_string(), "-X", "POST"]);
    wait_until("both end", || traced.named("settle").len() == 2);
    serving.signal("TERM");
    assert_eq!(serving.end().code, 0);
    let roots = traced.named("create");
    assert!(roots.len() == 2 && roots[0].trace != roots[1].trace, "{roots:?}");
    for root in roots {
        assert!(
            root.parent.is_empty() && root.attribute("overnight.request.id").starts_with("req_"),
            "{root:?}"
        );
        for name in ["wait", "chat m", "settle"] {
            let spans = traced.named(name);
            let span = spans.iter().find(|span| span.trace == root.trace).unwrap();
            assert_eq!(span.parent, root.id, "{span:?}");
            assert_eq!(span.attribute("overnight.request.id"), root.attribute("overnight.request.id"));
        }
    }
}

#[test]
fn what_is_not_sampled_is_told_so_to_the_engine_and_leaves_no_span() {
    let traced = Traced::new("sample = \"0%\"\ncaller_traces_per_minute = 0\n");
    let serving = traced.serve(None);
    let (_, request) = traced.create(SECRET, CALLER);
    wait_until("it completes", || traced.world.json("list requests --status completed")[0]["id"] == *request);
    serving.signal("TERM");
    assert_eq!(serving.end().code, 0);
    assert_eq!(traced.spans(), []);
    let sent = traced.world.engine.traceparents();
    assert!(
        !sent.is_empty() && sent.iter().all(|sent| sent.ends_with("-00") && !sent.contains(TRACE)),
        "{sent:?}"
    );
}

#[test]
fn a_request_that_fails_ends_its_trace_with_the_kind_of_failure() {
    let traced = Traced::new("");
    let serving = traced.serve(None);
    traced.create("[[sim:status=400]]", &CALLER.replace("-01", "-00"));
    let settled = traced.wait_for("settle");
    serving.signal("TERM");
    assert_eq!(serving.end().code, 0);
    assert!(settled.is_error && settled.attribute("overnight.request.status") == "failed", "{settled:?}");
    assert!(settled.attribute("error.type").starts_with("engine_"), "{settled:?}");
    let failed = traced.named("chat m");
    assert!(
        !failed.is_empty() && failed.iter().all(|attempt| attempt.is_error && attempt.trace == settled.trace)
    );
    assert_ne!(settled.trace, TRACE, "the caller does not keep its trace");
}

#[test]
fn headers_that_cannot_be_used_stop_the_start() {
    let traced = Traced::new("");
    for (value, why) in [("nonsense", "is no list like name=value"), ("", "is empty")] {
        let ran = traced.world.command("serve").env("COLLECTOR", value).output().unwrap();
        let said = String::from_utf8_lossy(&ran.stderr).into_owned();
        assert!(!ran.status.success() && said.contains("COLLECTOR") && said.contains(why), "{said}");
        assert!(value.is_empty() || !said.contains(value), "{said}");
    }
}
