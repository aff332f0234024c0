//! The metrics, checked by Prometheus' own tool.

use std::io::Write;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::support::{World, chats};

#[test]
fn promtool_finds_no_fault_with_the_metrics() {
    let world = World::new();
    let serving = world.serve();
    world.write("prompts.jsonl", &chats(8));
    assert_eq!(world.run("submit prompts.jsonl --wait").code, 0);
    let address: Value = serde_json::from_str(&world.read("data/serve.json")).unwrap();
    let url = format!("{}/metrics", address["url"].as_str().unwrap());
    let page = Command::new("curl").args(["-sf", &url]).output().unwrap().stdout;
    let text = String::from_utf8(page.clone()).unwrap();
    for line in
        ["overnight_requests_accepted_total 8", "overnight_requests_ended_total{outcome=\"completed\"} 8"]
    {
        assert!(text.lines().any(|shown| shown == line), "{line}:\n{text}");
    }
    let mut promtool = Command::new("promtool");
    let promtool = promtool.args(["check", "metrics"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let promtool = promtool.stderr(Stdio::piped()).spawn();
    let mut promtool = promtool.expect("promtool is missing. ./scripts/test installs what tests need.");
    promtool.stdin.take().unwrap().write_all(&page).unwrap();
    let judged = promtool.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&judged.stderr);
    assert!(judged.status.success() && said.is_empty(), "{said}");
    drop(serving);
}
