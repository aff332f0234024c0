//! A folder with settings, a simulated engine, and the program run in it.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::Duration;

use overnight_testkit::engine::{CostModel, SimConfig, SimEngine, Speed};
use serde_json::Value;
use tempfile::TempDir;
use tokio::runtime::Runtime;

/// The limit of every wait, in steps of [`STEP`].
const STEPS_MAX: usize = 3_000;
const STEP: Duration = Duration::from_millis(10);

/// A folder with settings whose only engine is simulated and serves the model `m`.
pub(crate) struct World {
    pub(crate) engine: SimEngine,
    pub(crate) folder: TempDir,
    _runtime: Runtime,
}

#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// A process that is killed when dropped.
pub(crate) struct Running(Child);

impl World {
    /// With an engine that answers immediately.
    pub(crate) fn new() -> Self {
        Self::with(SimConfig::default())
    }

    /// The same, with answered prompts in its folder.
    pub(crate) fn answered() -> Self {
        let world = Self::new();
        world.write("prompts.jsonl", &chats(5));
        assert_eq!(world.run("run prompts.jsonl -o out.jsonl").code, 0);
        world
    }

    /// With an engine that is slow enough to stop commands midway.
    pub(crate) fn slow() -> Self {
        let speed = Speed::Modelled(CostModel { output_tokens_per_second: 100.0, ..CostModel::default() });
        Self::with(SimConfig { speed, ..SimConfig::default() })
    }

    pub(crate) fn with(mut config: SimConfig) -> Self {
        config.tunables.models = vec!["m".to_owned()];
        let runtime = Runtime::new().unwrap();
        let engine = {
            let _inside = runtime.enter();
            SimEngine::start(config).unwrap()
        };
        let folder = tempfile::tempdir().unwrap();
        let settings = format!(
            "listen = \"127.0.0.1:0\"\ndata_dir = \"data\"\naggregation_period = \"50ms\"\n[[models]]\nname = \"m\"\n\
             [[engines]]\nname = \"sim\"\nkind = \"openai\"\nbase_url = \"{}\"\nmax_concurrency = 32\n",
            engine.base_url()
        );
        fs::write(folder.path().join("overnight.toml"), settings).unwrap();
        Self { engine, folder, _runtime: runtime }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// The program with these arguments, separated by spaces.
    pub(crate) fn command(&self, line: &str) -> Command {
        let mut command = program();
        command.args(line.split_whitespace()).current_dir(self.folder.path());
        command
    }

    pub(crate) fn run(&self, line: &str) -> Ran {
        self.command(line).output().unwrap().into()
    }

    /// Runs the program, which must succeed; returns its JSON.
    pub(crate) fn json(&self, line: &str) -> Value {
        let ran = self.run(&format!("{line} --json"));
        assert_eq!(ran.code, 0, "{line}: {ran:?}");
        serde_json::from_str(&ran.stdout).unwrap()
    }

    pub(crate) fn start(&self, line: &str) -> Running {
        Running::of(self.command(line).stderr(Stdio::piped()))
    }

    /// Starts the service and waits until it reports its address.
    pub(crate) fn serve(&self) -> Running {
        self.serve_by(self.command("serve --quiet").stderr(Stdio::piped()))
    }

    pub(crate) fn serve_by(&self, command: &mut Command) -> Running {
        let serving = Running::of(command);
        wait_until("the service says where it is", || self.path("data/serve.json").exists());
        serving
    }

    /// The number of requests in the running service.
    pub(crate) fn stored_requests(&self) -> usize {
        self.json("list requests --limit 0").as_array().unwrap().len()
    }
}

impl Running {
    /// Starts a command with a piped standard output.
    pub(crate) fn of(command: &mut Command) -> Self {
        Self(command.stdout(Stdio::piped()).spawn().unwrap())
    }

    /// The next line of standard output, which must exist.
    pub(crate) fn line(&mut self) -> String {
        let mut line = String::new();
        // No read-ahead: bytes after the line remain for the next reader.
        let mut stdout = BufReader::with_capacity(1, self.0.stdout.as_mut().unwrap());
        stdout.read_line(&mut line).unwrap();
        line
    }

    /// The next line of standard error, which must exist.
    pub(crate) fn error_line(&mut self) -> String {
        let mut line = String::new();
        let mut stderr = BufReader::with_capacity(1, self.0.stderr.as_mut().unwrap());
        assert!(stderr.read_line(&mut line).unwrap() > 0, "it says no more");
        line
    }

    pub(crate) fn tell(&mut self, line: &str) {
        writeln!(self.0.stdin.as_mut().unwrap(), "{line}").unwrap();
    }

    pub(crate) fn id(&self) -> u32 {
        self.0.id()
    }

    /// `kill -9`.
    pub(crate) fn kill(mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }

    pub(crate) fn signal(&self, name: &str) {
        let sent = Command::new("kill").args([&format!("-{name}"), &self.id().to_string()]).status().unwrap();
        assert!(sent.success());
    }

    pub(crate) fn has_ended(&mut self) -> bool {
        self.0.try_wait().unwrap().is_some()
    }

    /// Waits for its end; returns the exit code.
    pub(crate) fn code(mut self) -> i32 {
        wait_until("the process ends", || self.has_ended());
        self.0.wait().unwrap().code().unwrap_or(-1)
    }

    pub(crate) fn end(mut self) -> Ran {
        wait_until("the process ends", || self.has_ended());
        let (mut stdout, mut stderr) = (String::new(), String::new());
        self.0.stdout.take().unwrap().read_to_string(&mut stdout).unwrap();
        self.0.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        Ran { code: self.0.wait().unwrap().code().unwrap_or(-1), stdout, stderr }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

/// The program without the settings of the test's environment.
pub(crate) fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_overnight"));
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("OVERNIGHT_"))
    {
        command.env_remove(name);
    }
    command
}

#[allow(clippy::disallowed_methods, reason = "the test waits for other processes, which live in real time")]
pub(crate) fn pause() {
    thread::sleep(STEP);
}

pub(crate) fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    for _ in 0..STEPS_MAX {
        if is_so() {
            return;
        }
        pause();
    }
    panic!("it did not come to pass that {what}");
}

pub(crate) fn chat(content: &str) -> Value {
    serde_json::json!({"model": "m", "messages": [{"role": "user", "content": content}], "max_tokens": 4})
}

/// `count` different chat bodies, one on each line.
pub(crate) fn chats(count: usize) -> String {
    (0..count).map(|number| format!("{}\n", chat(&format!("prompt {number}")))).collect()
}

pub(crate) fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

pub(crate) fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Runs a program, which must succeed; returns its output.
pub(crate) fn succeed(command: &mut Command) -> String {
    let ran = command.output().unwrap();
    assert!(ran.status.success(), "{command:?}: {}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8(ran.stdout).unwrap()
}
