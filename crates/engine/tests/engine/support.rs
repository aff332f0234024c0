use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    thread,
    time::Duration,
};

use serde_json::{Value, json};

pub(crate) const MODEL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../assets/overnight-tiny.gguf");
pub(crate) const KEY: &str = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
const POLL: Duration = Duration::from_millis(5);
const POLLS_MAX: usize = 6_000;

pub(crate) struct Engine {
    pub(crate) child: Child,
    pub(crate) stdin: Option<ChildStdin>,
    pub(crate) stdout: BufReader<ChildStdout>,
    pub(crate) address: String,
}

pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).expect("a JSON body")
    }

    pub(crate) fn error(&self) -> (u16, String, String) {
        let error = self.json()["error"].clone();
        assert!(error["message"].is_string() && error["type"].is_string(), "{}", self.body);
        let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        (self.status, word(&error["code"]), word(&error["param"]))
    }
}

pub(crate) fn command(model: &str, flags: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_overnight-engine"));
    command.args(["--model", model, "--name", "tiny", "--threads", "1"]).args(flags);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    command
}

impl Engine {
    pub(crate) fn start(flags: &[&str]) -> Self {
        Self::start_with(MODEL, flags)
    }

    pub(crate) fn start_with(model: &str, flags: &[&str]) -> Self {
        let engine = Self::load(model, flags);
        let is_ready = poll(|| engine.request("GET", "/health", "", "").status == 200);
        assert!(is_ready, "the model was not loaded");
        engine
    }

    pub(crate) fn start_loading(flags: &[&str]) -> Self {
        Self::load(MODEL, flags)
    }

    fn load(model: &str, flags: &[&str]) -> Self {
        let mut child = command(model, flags).spawn().expect("the engine starts");
        let mut stdin = child.stdin.take().expect("a pipe");
        writeln!(stdin, "{}", json!({ "key": KEY })).expect("the key is taken");
        let mut stdout = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut line = String::new();
        stdout.read_line(&mut line).expect("a line");
        let line: Value = serde_json::from_str(&line).expect("a JSON line");
        let address = line["listening"].as_str().expect("an address").to_owned();
        assert!(address.starts_with("127.0.0.1:"), "{address}");
        Self { child, stdin: Some(stdin), stdout, address }
    }

    pub(crate) fn request(&self, method: &str, path: &str, key: &str, body: &str) -> Answer {
        self.exchange(&message(method, path, key, body))
    }

    pub(crate) fn exchange(&self, sent: &str) -> Answer {
        let mut stream = self.send(sent);
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).expect("an answer");
        let answer = String::from_utf8(answer).expect("text");
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head and a body");
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
        Answer { status, head: head.to_ascii_lowercase(), body: body.to_owned() }
    }

    pub(crate) fn send(&self, sent: &str) -> TcpStream {
        let mut stream = TcpStream::connect(&self.address).expect("a connection");
        stream.write_all(sent.as_bytes()).expect("the request is taken");
        stream
    }

    pub(crate) fn post(&self, body: &str) -> Answer {
        self.request("POST", "/v1/chat/completions", KEY, body)
    }

    /// Greedy unless `fields` say otherwise.
    pub(crate) fn ask(&self, question: &str, fields: &Value) -> Value {
        let answer = self.post(&chat(question, fields));
        assert_eq!(answer.status, 200, "{}", answer.body);
        answer.json()
    }

    /// Its processes with this argument.
    #[cfg(target_os = "linux")]
    pub(crate) fn processes(&self, argument: &str) -> Vec<String> {
        let (parent, line_end) = (self.child.id().to_string(), format!("\0{argument}\0"));
        let processes = fs::read_dir("/proc").expect("processes").flatten().map(|it| it.path());
        let stats = processes.filter_map(|it| {
            let has_it = fs::read(it.join("cmdline")).is_ok_and(|line| line.ends_with(line_end.as_bytes()));
            let stat = fs::read_to_string(it.join("stat")).ok().filter(|_| has_it)?;
            let own_parent = stat.rsplit(')').next()?.split(' ').nth(2)?;
            (own_parent == parent).then(|| it.file_name()?.to_str().map(str::to_owned))?
        });
        stats.collect()
    }

    pub(crate) fn metric(&self, name: &str) -> f64 {
        let page = self.request("GET", "/metrics", KEY, "").body;
        let line = page.lines().find(|line| line.starts_with("vllm:") && line.contains(name));
        let value = line.and_then(|line| line.rsplit(' ').next()?.parse().ok());
        value.unwrap_or_else(|| panic!("no {name} in {page}"))
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        // Some tests end it themselves.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn message(method: &str, path: &str, key: &str, body: &str) -> String {
    let head = format!("{method} {path} HTTP/1.1\r\nHost: engine\r\nConnection: close\r\n");
    format!("{head}Authorization: Bearer {key}\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}

/// Greedy unless `fields` say otherwise.
pub(crate) fn chat(question: &str, fields: &Value) -> String {
    let messages = json!([{ "role": "user", "content": question }]);
    let mut body = json!({ "model": "tiny", "messages": messages, "temperature": 0 });
    let fields = fields.as_object().expect("an object").clone();
    body.as_object_mut().expect("an object").extend(fields);
    body.to_string()
}

/// Waits until `holds` returns true; false after a time-out.
pub(crate) fn poll(mut holds: impl FnMut() -> bool) -> bool {
    (0..POLLS_MAX).any(|_| {
        let held = holds();
        if !held {
            thread::sleep(POLL);
        }
        held
    })
}
