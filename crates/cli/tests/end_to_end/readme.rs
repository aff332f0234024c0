//! The README and the tutorial as a newcomer follows them: every shell block, pasted in order into a terminal in a clean folder. A block
//! that starts the service has its own terminal.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use overnight_testkit::engine::{SimConfig, SimEngine, Tunables};
use overnight_testkit::hub::SimHub;
use overnight_testkit::postgres::Cluster;
use serde_json::Value;
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::support::{lines, program, wait_until};

const CLONE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
/// Printed after each block.
const ENDED: &str = "-- that was all of it --";
const BLOCK_MAX: Duration = Duration::from_secs(120);
const VLLM_MODEL: &str = "meta-llama/Llama-3.1-8B-Instruct";
/// The README's model in the local Hub; its file is the built-in model.
const HUB_FILE: (&str, &str) = ("Qwen/Qwen2.5-1.5B-Instruct-GGUF", "qwen2.5-1.5b-instruct-q4_k_m.gguf");

/// A folder like a clone, with everything that the documents need.
struct World {
    folder: TempDir,
    hub: SimHub,
    engine: SimEngine,
    database_url: String,
    webhook_port: u16,
    _runtime: Runtime,
}

impl World {
    fn new(database: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        symlink(env!("CARGO_BIN_EXE_overnight"), folder.path().join("overnight")).unwrap();
        fs::create_dir(folder.path().join("examples")).unwrap();
        for samples in ["examples/prompts.jsonl", "examples/reviews.csv"] {
            fs::copy(Path::new(CLONE).join(samples), folder.path().join(samples)).unwrap();
        }
        let runtime = Runtime::new().unwrap();
        let model = fs::read(Path::new(CLONE).join("assets/overnight-tiny.gguf")).unwrap();
        let hub = runtime.block_on(SimHub::start(&[(HUB_FILE.0, HUB_FILE.1, &model)])).unwrap();
        let engine = {
            let _inside = runtime.enter();
            SimEngine::start(serving_vllm_model()).unwrap()
        };
        let database_url = Cluster::shared().database(database).unwrap();
        let webhook_port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        Self { folder, hub, engine, database_url, webhook_port, _runtime: runtime }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A shell in the folder, without the settings of the test's environment. The service uses any free port.
    fn shell(&self) -> Command {
        let mut shell = Command::new("bash");
        shell.args(["--norc", "--noprofile"]).current_dir(self.folder.path()).process_group(0);
        program().get_envs().for_each(|(name, _)| {
            shell.env_remove(name);
        });
        for name in ["HF_TOKEN", "HF_HOME", "HF_HUB_OFFLINE", "HTTP_PROXY", "http_proxy"] {
            shell.env_remove(name);
        }
        shell.env("HF_ENDPOINT", self.hub.endpoint()).env("HF_HUB_CACHE", self.path("cache"));
        shell.env("OVERNIGHT_LISTEN", "127.0.0.1:0");
        shell
    }

    /// The block with local ports and a local database.
    fn localised(&self, block: &str) -> String {
        let webhooks = format!("127.0.0.1:{}", self.webhook_port);
        let serving = fs::read_to_string(self.path("overnight-data/serve.json"));
        let serving: Option<Value> = serving.ok().and_then(|text| serde_json::from_str(&text).ok());
        let url = serving.and_then(|serving| Some(serving["url"].as_str()?.to_owned()));
        let block = block
            .replace("./overnight listen", &format!("./overnight listen --listen {webhooks}"))
            .replace("127.0.0.1:8787", &webhooks)
            .replace("http://127.0.0.1:8000/v1", &self.engine.base_url())
            .replace("postgres://overnight:secret@db.example/overnight", &self.database_url);
        url.map_or(block.clone(), |url| block.replace("http://127.0.0.1:8080", &url))
    }

    fn serve(&self, block: &str) -> Terminal {
        let named = block.split("--data-dir ").nth(1).and_then(|rest| rest.split_whitespace().next());
        let serve_file = self.path(named.unwrap_or("overnight-data")).join("serve.json");
        assert!(!serve_file.exists(), "a service is running already");
        let mut shell = self.shell();
        shell.arg("-c").arg(self.localised(block)).stdin(Stdio::null()).stdout(Stdio::null());
        let mut terminal = Terminal(shell.stderr(Stdio::null()).spawn().unwrap());
        wait_until("the service says where it is", || {
            assert!(terminal.0.try_wait().unwrap().is_none(), "{block}: it ended");
            serve_file.exists()
        });
        terminal
    }
}

/// A shell with its processes, all of which are killed when it is dropped.
struct Terminal(Child);

impl Terminal {
    fn signal(&self, name: &str) {
        let group = format!("-{}", self.0.id());
        Command::new("kill")
            .args([&format!("-{name}"), "--", &group])
            .stderr(Stdio::null())
            .status()
            .unwrap();
    }

    /// Ctrl-C.
    fn interrupt(mut self) {
        self.signal("INT");
        wait_until("the service stops", || self.0.try_wait().unwrap().is_some());
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.signal("KILL");
        let _ = self.0.wait();
    }
}

/// The terminal for pasting.
struct Pasting {
    _terminal: Terminal,
    input: ChildStdin,
    output: Receiver<String>,
}

impl Pasting {
    fn start(world: &World) -> Self {
        let mut shell = world.shell();
        shell.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut terminal = Terminal(shell.spawn().unwrap());
        let mut input = terminal.0.stdin.take().unwrap();
        // Includes standard error and failed commands.
        writeln!(input, "exec 2>&1; set -o pipefail; trap 'echo \"failed: $BASH_COMMAND\"' ERR").unwrap();
        let (sender, output) = mpsc::channel();
        let reader = BufReader::new(terminal.0.stdout.take().unwrap());
        thread::spawn(move || reader.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
        Self { _terminal: terminal, input, output }
    }

    fn paste(&mut self, block: &str) -> String {
        writeln!(self.input, "{block}\necho; echo '{ENDED}'").unwrap();
        self.said_until(ENDED)
    }

    /// The output up to a line with these words.
    fn said_until(&mut self, words: &str) -> String {
        let mut said = String::new();
        while !said.contains(words) {
            let line = self.output.recv_timeout(BLOCK_MAX);
            said.push_str(&line.unwrap_or_else(|_| panic!("{words:?} is not said:\n{said}")));
            said.push('\n');
        }
        said
    }
}

fn serving_vllm_model() -> SimConfig {
    let config = SimConfig::default();
    SimConfig { tunables: Tunables { models: vec![VLLM_MODEL.to_owned()], ..config.tunables }, ..config }
}

/// The shell blocks of a document.
fn blocks(document: &str) -> Vec<String> {
    let text = fs::read_to_string(Path::new(CLONE).join(document)).unwrap();
    let blocks = text.split("\n```sh\n").skip(1);
    blocks.map(|rest| rest.split_once("\n```").unwrap().0.to_owned()).collect()
}

/// Pastes every block of a document; returns the commands with their output. `None` without the embedded engine.
fn follow(document: &str) -> Option<(World, String)> {
    if !Path::new(env!("CARGO_BIN_EXE_overnight")).with_file_name("overnight-engine").exists() {
        eprintln!("skipped: overnight-engine is not built");
        return None;
    }
    let world = World::new(if document == "README.md" { "readme" } else { "tutorial" });
    let mut pasting = Pasting::start(&world);
    let mut serving: Option<Terminal> = None;
    let mut transcript = String::new();
    for block in blocks(document) {
        if block.lines().last().is_some_and(|line| line.contains("./overnight serve")) {
            // The document says so when it starts another one.
            serving.take().into_iter().for_each(Terminal::interrupt);
            serving = Some(world.serve(&block));
            continue;
        }
        let block = world.localised(&block);
        let said = pasting.paste(&block);
        // The tutorial shows this one refusal.
        let is_refused = said.contains("\"error\":{");
        assert_eq!(is_refused, block.contains("/cancel"), "{block}\n\n{said}");
        assert!(!said.contains("failed: "), "{block}\n\n{said}");
        transcript.push_str(&format!("$ {block}\n{said}"));
        if block.contains("--webhook") {
            transcript.push_str(&pasting.said_until("batch.completed"));
        }
    }
    assert!(serving.is_some(), "{document} starts a service");
    Some((world, transcript))
}

#[test]
fn readme_commands_do_what_it_says() {
    let Some((world, transcript)) = follow("README.md") else { return };
    for results in ["results.jsonl", "answers.jsonl"] {
        let results = lines(&fs::read_to_string(world.path(results)).unwrap());
        assert!(results.iter().all(|result| result["status"] == "completed"), "{results:?}");
        assert_eq!(results.len(), 24);
    }
    let labelled = fs::read_to_string(world.path("labelled.csv")).unwrap();
    let is_labelled = |row: &&str| row.contains(",positive,stop,") || row.contains(",negative,stop,");
    assert_eq!(labelled.lines().filter(is_labelled).count(), 200, "{labelled}");
    assert!(transcript.contains("24 of 24 completed"), "{transcript}");
}

#[test]
fn tutorial_commands_do_what_it_says() {
    let Some((_world, transcript)) = follow("docs/tutorial.md") else { return };
    for expected in ["The capital of France is Paris", "batch_name", "24 of 24", "batch.completed"] {
        assert!(transcript.contains(expected), "{expected:?} is missing:\n{transcript}");
    }
}
