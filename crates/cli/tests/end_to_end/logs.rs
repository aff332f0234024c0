//! The JSON log of the real program: every line is an object and names its subject.

use std::fs::File;
use std::process::{Command, Stdio};

use serde_json::{Map, Value, json};

use crate::support::{Running, World, chat, chats, wait_until};

struct Logged {
    world: World,
    serving: Running,
}

impl Logged {
    fn serve(level: &str) -> Self {
        let world = World::new();
        let settings = format!(
            "log = \"{level}\"\nlog_format = \"json\"\n{}[webhooks]\nallow_insecure_targets = true\n",
            world.read("overnight.toml")
        );
        world.write("overnight.toml", &settings);
        let log = File::create(world.path("log")).unwrap();
        let serving = world.serve_by(world.command("serve --quiet").stderr(Stdio::from(log)));
        Self { world, serving }
    }

    /// Calls the API; returns the call's identifier and the answer.
    fn call(&self, path: &str, body: Option<&Value>) -> (String, String) {
        let serving: Value = serde_json::from_str(&self.world.read("data/serve.json")).unwrap();
        let url = format!("{}{path}", serving["url"].as_str().unwrap());
        let key = format!("x-api-key: {}", self.world.read("data/api-key").trim());
        let mut curl = Command::new("curl");
        curl.args(["-s", "-D", "-", &url, "-H", &key]);
        body.into_iter().for_each(|body| _ = curl.args(["--json", &body.to_string()]));
        let answer = String::from_utf8(curl.output().unwrap().stdout).unwrap();
        let call = answer.lines().find_map(|line| line.strip_prefix("x-request-id: ")).unwrap();
        (call.trim().to_owned(), answer.rsplit("\r\n\r\n").next().unwrap().to_owned())
    }

    fn create(&self, content: &str) -> (String, String) {
        let (call, answer) = self.call(
            "/v1/requests",
            Some(&json!({"request_body": chat(content), "webhook": "http://127.0.0.1:9/"})),
        );
        let created: Value = serde_json::from_str(&answer).unwrap();
        (call, created[0]["id"].as_str().unwrap().to_owned())
    }

    /// Every line, which must be an object with the common members.
    fn lines(&self) -> Vec<Map<String, Value>> {
        let text = self.world.read("log");
        let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
        let lines: Vec<Map<String, Value>> = whole
            .lines()
            .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
            .collect();
        for line in &lines {
            for name in ["timestamp", "level", "target", "message"] {
                assert!(line.get(name).is_some_and(Value::is_string), "{name}: {line:?}");
            }
            assert!(line.values().all(|value| !value.is_object()), "flat: {line:?}");
        }
        lines
    }

    fn stop(self) -> Vec<Map<String, Value>> {
        self.serving.signal("TERM");
        let Self { world, serving } = self;
        assert_eq!(serving.code(), 0);
        let text = world.read("log");
        assert!(text.ends_with('\n'));
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

#[test]
fn every_line_about_a_call_has_its_request_id_and_every_line_about_a_request_has_its_name_and_account() {
    let logged = Logged::serve("debug");
    let account = logged.world.json("account list")[0]["id"].as_str().unwrap().to_owned();
    let (created_by, request) = logged.create("no fault");
    let (missed, _) = logged.call("/v1/requests/req_0000000000000000000000000g", None);
    let (_, failing) = logged.create("[[sim:status=400]]");
    wait_until("both end", || {
        logged
            .world
            .json("list requests --limit 0")
            .as_array()
            .unwrap()
            .iter()
            .all(|it| matches!(it["status"].as_str().unwrap(), "completed" | "failed"))
    });
    // No receiver is at the webhook's address.
    let untold = |request: &str| {
        let is_of = |line: &Map<String, Value>| {
            line["message"] == "webhook not delivered" && line["request"] == request
        };
        logged.lines().iter().any(is_of)
    };
    wait_until("the webhooks are tried", || untold(&request) && untold(&failing));
    let lines = logged.lines();
    for call in [&created_by, &missed] {
        let of_call: Vec<_> = lines
            .iter()
            .filter(|line| line.values().any(|it| it.as_str().is_some_and(|it| it.contains(call.as_str()))))
            .collect();
        assert!(!of_call.is_empty(), "{call}: {lines:?}");
        for line in of_call {
            assert_eq!((&line["request_id"], &line["account"]), (&json!(call), &json!(account)), "{line:?}");
            assert!(line["route"].as_str().unwrap().starts_with("/v1/requests"), "{line:?}");
        }
    }
    let attempts: Vec<_> = lines.iter().filter(|line| line["message"] == "attempt failed").collect();
    assert!(!attempts.is_empty(), "{lines:?}");
    for line in attempts {
        assert_eq!((&line["request"], &line["account"]), (&json!(failing), &json!(account)), "{line:?}");
        assert_eq!((&line["model"], &line["replica"]), (&json!("m"), &json!("sim")), "{line:?}");
    }
    assert!(request != failing && !logged.stop().is_empty());
}

#[cfg(target_os = "linux")]
#[test]
fn requests_complete_though_no_line_of_the_log_can_be_written() {
    let full_disk = || Stdio::from(File::options().write(true).open("/dev/full").unwrap());
    // Its reader is dropped at the end of this line.
    let without_reader = || Stdio::from(std::io::pipe().unwrap().1);
    for errors in [full_disk(), without_reader()] {
        let world = World::new();
        world.write("prompts.jsonl", &chats(5));
        let mut command = world.command("serve");
        let serving = world.serve_by(command.env("OVERNIGHT_LOG", "debug").stderr(errors));
        let ran = world.run("run prompts.jsonl -o out.jsonl");
        assert_eq!(ran.code, 0, "{ran:?}");
        assert_eq!(world.run("doctor").code, 0);
        serving.signal("TERM");
        assert_eq!(serving.code(), 0);
    }
}
