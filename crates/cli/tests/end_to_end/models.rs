//! Models by name from a local Hub: the program downloads them, and the real engine runs them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use overnight_testkit::hub::{HubBehaviour, SimHub};
use serde_json::Value;
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::support::{Ran, Running, lines, program, wait_until};

const TINY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../assets/overnight-tiny.gguf");
const EXAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/prompts.jsonl");
const NAME: &str = "hf:o/tiny-GGUF:Q8_0";

/// A folder, a cache, and a Hub that has the built-in model under another name.
struct World {
    folder: TempDir,
    hub: SimHub,
    _runtime: Runtime,
}

impl World {
    fn new() -> Self {
        let runtime = Runtime::new().unwrap();
        let model = fs::read(TINY).unwrap();
        let files: [(&str, &str, &[u8]); 2] =
            [("o/tiny-GGUF", "README.md", b"tiny"), ("o/tiny-GGUF", "tiny-Q8_0.gguf", &model)];
        let hub = runtime.block_on(SimHub::start(&files)).unwrap();
        Self { folder: tempfile::tempdir().unwrap(), hub, _runtime: runtime }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn command(&self, line: &str) -> Command {
        let mut command = program();
        command.args(line.split_whitespace()).current_dir(self.folder.path());
        command.env("HF_ENDPOINT", self.hub.endpoint()).env("HF_HUB_CACHE", self.path("cache"));
        for name in ["HF_TOKEN", "HF_HOME", "HF_HUB_OFFLINE", "HTTP_PROXY", "http_proxy"] {
            command.env_remove(name);
        }
        command
    }

    fn run(&self, line: &str) -> Ran {
        self.command(line).output().unwrap().into()
    }

    /// The requested offsets.
    fn ranges(&self) -> Vec<String> {
        self.hub.calls().into_iter().filter(|call| call.is_for_bytes).map(|call| call.range).collect()
    }
}

/// Whether the engine is beside the program; if not, it prints so.
fn has_engine() -> bool {
    let engine = Path::new(env!("CARGO_BIN_EXE_overnight")).with_file_name("overnight-engine");
    if !engine.exists() {
        eprintln!("skipped: {} is not built", engine.display());
    }
    engine.exists()
}

#[test]
fn a_run_with_a_model_of_the_hub_needs_no_other_step_though_its_download_is_cut_twice() {
    if !has_engine() {
        return;
    }
    let world = World::new();
    world.hub.behave(HubBehaviour { breaks: vec![300_000, 400_000], ..HubBehaviour::default() });
    let ran = world.run(&format!("run {EXAMPLES} -o results.jsonl --model {NAME}"));
    assert_eq!(ran.code, 0, "{ran:?}");
    let results = lines(&fs::read_to_string(world.path("results.jsonl")).unwrap());
    assert_eq!(results.len(), fs::read_to_string(EXAMPLES).unwrap().lines().count());
    for result in &results {
        let model = result.pointer("/result_body/model").and_then(Value::as_str);
        assert_eq!(model, Some("o/tiny-GGUF:Q8_0"), "{result}");
    }
    let ranges = world.ranges();
    assert_eq!((ranges.len(), ranges[0].as_str()), (3, ""), "{ranges:?}");
    let again = world.run(&format!("run {EXAMPLES} -o results.jsonl --model {NAME}"));
    assert_eq!((again.code, world.ranges().len()), (0, 3), "what is here is asked for no more: {again:?}");
}

#[test]
fn a_model_with_a_wrong_checksum_is_refused_before_anything_is_asked_of_it() {
    let world = World::new();
    world.hub.behave(HubBehaviour { is_damaged: true, ..HubBehaviour::default() });
    let ran = world.run(&format!("run {EXAMPLES} -o results.jsonl --model {NAME}"));
    assert_eq!(ran.code, 4, "{ran:?}");
    assert!(ran.stderr.contains("tiny-Q8_0.gguf was damaged on its way: its SHA-256 is "), "{ran:?}");
    assert!(!world.path("results.jsonl").exists());
}

#[test]
fn a_service_downloads_the_model_of_its_settings() {
    if !has_engine() {
        return;
    }
    let world = World::new();
    let settings = format!(
        "listen = \"127.0.0.1:0\"\ndata_dir = \"data\"\naggregation_period = \"50ms\"\n[[models]]\nname = \"m\"\n\
         [[engines]]\nname = \"local\"\nkind = \"embedded\"\nmodel_path = \"{NAME}\"\n"
    );
    fs::write(world.path("overnight.toml"), settings).unwrap();
    let prompt =
        "{\"model\":\"any\",\"messages\":[{\"role\":\"user\",\"content\":\"a\"}],\"max_tokens\":4}\n";
    fs::write(world.path("prompts.jsonl"), prompt).unwrap();
    let doctor = world.run("doctor");
    assert!(doctor.stdout.contains(&format!("the model {NAME} is not in the cache")), "{doctor:?}");
    let _serving = Running::of(&mut world.command("serve --quiet"));
    wait_until("the service says where it is", || world.path("data/serve.json").exists());
    let sent = world.run("submit prompts.jsonl --model m --wait");
    assert_eq!(sent.code, 0, "{sent:?}");
    assert!(world.run(&format!("model show {NAME}")).stdout.contains("tiny-Q8_0.gguf"));
    let refused = world.run(&format!("run prompts.jsonl -o out.jsonl --model {NAME}"));
    assert_eq!(refused.code, 3, "{refused:?}");
    assert!(
        refused.stderr.contains("the service has no model \"o/tiny-GGUF:Q8_0\"; it has m"),
        "{refused:?}"
    );
    assert!(!world.path("out.jsonl").exists());
}

#[test]
fn models_are_pulled_listed_shown_and_removed() {
    let world = World::new();
    let shown = world.run(&format!("model show {NAME}"));
    assert_eq!(shown.code, 3, "{shown:?}");
    assert!(shown.stderr.contains("overnight model pull"), "{shown:?}");
    assert!(world.run("model list").stderr.contains("no model is here yet"));
    let pulled = world.run(&format!("model pull {NAME}"));
    assert!(pulled.code == 0 && pulled.stdout.contains("downloaded"), "{pulled:?}");
    let again = world.run(&format!("model pull {NAME}"));
    assert!(again.code == 0 && again.stdout.contains("is the newest"), "{again:?}");
    let list: Value = serde_json::from_str(&world.run("model list --json").stdout).unwrap();
    assert_eq!(list[0]["name"], "hf:o/tiny-GGUF:tiny-Q8_0.gguf", "{list}");
    assert_eq!(list[0]["bytes"], fs::metadata(TINY).unwrap().len(), "{list}");
    let shown: Value = serde_json::from_str(&world.run(&format!("model show {NAME} --json")).stdout).unwrap();
    assert_eq!(shown["purpose"], "chat", "{shown}");
    let path = list[0]["path"].as_str().unwrap();
    assert_eq!(fs::read(path).unwrap(), fs::read(TINY).unwrap());
    let removed = world.run(&format!("model remove {NAME}"));
    assert!(removed.code == 0 && !Path::new(path).exists(), "{removed:?}");
    assert_eq!(world.run(&format!("model remove {NAME}")).code, 3);
}

#[test]
fn names_and_hubs_that_are_none_are_said_clearly() {
    let world = World::new();
    for (line, code, expected) in [
        ("model pull qwen", 2, "is no model of the Hub: write hf:OWNER/REPO"),
        ("model pull hf:o/none", 3, "the Hub shows no model hf:o/none"),
        ("model pull hf:o/tiny-GGUF:Q4_0", 2, "its GGUF files: tiny-Q8_0.gguf"),
        ("run prompts.jsonl -o out --model hf:nonsense", 2, "is no model of the Hub"),
    ] {
        let ran = world.run(line);
        assert!(ran.code == code && ran.stderr.contains(expected), "{line}: {ran:?}");
    }
    let offline = world.command(&format!("model pull {NAME}")).env("HF_HUB_OFFLINE", "1").output().unwrap();
    let offline = Ran::from(offline);
    assert!(offline.code == 3 && offline.stderr.contains("HF_HUB_OFFLINE forbids"), "{offline:?}");
    let recommended = world.run("model recommended");
    assert!(recommended.code == 0 && recommended.stdout.contains("Apache-2.0"), "{recommended:?}");
}
