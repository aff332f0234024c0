//! Receivers of Node.js that speak only HTTP/2.

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};

use overnight_domain::webhooks::Answer;
use overnight_outgoing::webhooks::{Failure, Sender};
use serde_json::{Value, json};

use super::support::{Authority, BODY, Names, allowing, outcome, send, sender};

const HERE: &str = "127.0.0.2";

/// A receiver, its output, and a sender.
struct Stage {
    node: Child,
    said: BufReader<ChildStdout>,
    port: String,
    sender: Sender,
    /// Its file is read at the first call.
    _authority: Authority,
}

impl Stage {
    fn set() -> Self {
        let authority = Authority::new();
        let (certificate, key) = authority.certify_in_pem("hook.example");
        let mut command = Command::new("node");
        command.args(["--input-type=module", "--eval", include_str!("http2.js")]);
        command.env("CERT", certificate).env("KEY", key).stdout(Stdio::piped());
        let mut node = command.spawn().unwrap_or_else(|error| {
            panic!("node does not start ({error}). ./scripts/test installs what tests need.")
        });
        let mut said = BufReader::new(node.stdout.take().unwrap());
        let port = line(&mut said);
        let sender =
            sender(&allowing(HERE), Names::one("hook.example", &[HERE])).trusting(vec![authority.file()]);
        Self { node, said, port, sender, _authority: authority }
    }

    fn url(&self, path: &str) -> String {
        format!("https://hook.example:{}{path}", self.port)
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        let _ = self.node.kill();
        let _ = self.node.wait();
    }
}

fn line(said: &mut BufReader<ChildStdout>) -> String {
    let mut line = String::new();
    said.read_line(&mut line).unwrap();
    line.trim_end().to_owned()
}

#[tokio::test]
async fn a_receiver_that_speaks_http2_alone_is_called() {
    let mut stage = Stage::set();
    let tried = send(&stage.sender, &stage.url("/ok?a=b")).await;
    assert_eq!(outcome(&tried), Ok(204));
    let told: Value = serde_json::from_str(&line(&mut stage.said)).unwrap();
    let head = &told["headers"];
    for (name, value) in [
        (":method", json!("POST")),
        (":scheme", json!("https")),
        (":authority", json!(format!("hook.example:{}", stage.port))),
        (":path", json!("/ok?a=b")),
        ("content-type", json!("application/json")),
        ("webhook-signature", json!("v1,c2lnbmF0dXJl")),
        ("host", Value::Null),
    ] {
        assert_eq!(head[name], value, "{name} in {head}");
    }
    assert_eq!(told["body"].as_str().unwrap().as_bytes(), BODY);
}

#[tokio::test]
async fn what_a_receiver_answers_over_http2_counts_as_over_http1() {
    let stage = Stage::set();
    for (path, answer, retry_after_ms, failure) in [
        ("/later", Answer::Status(503), Some(60_000), None),
        ("/reset", Answer::None, None, Some(Failure::Broken)),
        ("/heads", Answer::None, None, Some(Failure::Broken)),
        ("/endless", Answer::Status(200), None, None),
    ] {
        let tried = send(&stage.sender, &stage.url(path)).await;
        let found = (tried.answer, tried.retry_after_ms, tried.failure);
        assert_eq!(found, (answer, retry_after_ms, failure), "{path}");
    }
}
