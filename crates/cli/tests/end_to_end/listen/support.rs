//! The listening program, its webhooks, and the server to which it forwards.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use standardwebhooks::Webhook;

use crate::support::{program, wait_until};

pub(super) const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
pub(super) const OTHER_SECRET: &str = "whsec_AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA=";
pub(super) const ID: &str = "evt_01jz8m4c2he7vsn9q3r5x1b8kb";
pub(super) const BODY: &str = concat!(
    r#"{"type":"batch.completed","timestamp":1751500020,"data":{"id":"batch_01jz8m4c2he7vsn9q3r5x1b8ka","#,
    r#""status":"completed","requests_counts":{"total":3,"completed":2,"failed":1,"in_progress":0,"#,
    r#""registered":0,"cancelled":0},"created_at":1751500010,"in_progress_at":1751500012,"#,
    r#""completed_at":1751500020,"cancelled_at":null}}"#
);

const PATIENCE: Duration = Duration::from_secs(30);

/// `overnight listen` at a free port. It is killed when dropped.
pub(super) struct Listening {
    child: Child,
    address: String,
    stdout: Receiver<String>,
    stderr: Receiver<String>,
}

impl Listening {
    pub(super) fn start(arguments: &[&str]) -> Self {
        Self::start_with(SECRET, arguments)
    }

    /// Starts it with this environment.
    pub(super) fn start_with(secrets: &str, arguments: &[&str]) -> Self {
        let mut command = program();
        command.args(["listen", "--listen", "127.0.0.1:0"]).args(arguments);
        command.env("OVERNIGHT_WEBHOOK_SECRET", secrets);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let stdout = lines_of(child.stdout.take().unwrap());
        let stderr = lines_of(child.stderr.take().unwrap());
        let told = stderr.recv_timeout(PATIENCE).unwrap();
        let address = told.split_once("http://").unwrap().1.split(';').next().unwrap().to_owned();
        Self { child, address, stdout, stderr }
    }

    /// The next line of standard output.
    pub(super) fn line(&self) -> String {
        self.stdout.recv_timeout(PATIENCE).unwrap()
    }

    /// The next line of standard error with this text.
    pub(super) fn note(&self, part: &str) -> String {
        loop {
            let line = self.stderr.recv_timeout(PATIENCE).unwrap();
            if line.contains(part) {
                return line;
            }
        }
    }

    /// Closes its standard output.
    pub(super) fn stop_reading(&mut self) {
        self.stdout = channel().1;
    }

    pub(super) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    /// Sends these bytes; returns the status and the whole answer.
    pub(super) fn raw(&self, bytes: &[u8]) -> (u16, String) {
        let mut stream = self.connect();
        stream.write_all(bytes).unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        (text.split(' ').nth(1).unwrap().parse().unwrap(), text)
    }

    /// The status for a webhook with these headers.
    pub(super) fn post(&self, headers: &str, body: &str) -> u16 {
        let text = format!(
            "POST /any/path?at=all HTTP/1.1\r\nhost: h\r\nconnection: close\r\ncontent-type: application/json\r\n\
             content-length: {}\r\n{headers}\r\n{body}",
            body.len()
        );
        self.raw(text.as_bytes()).0
    }

    /// The status for a correctly signed body.
    pub(super) fn tell(&self, id: &str, body: &str) -> u16 {
        self.post(&signed(SECRET, id, now(), body), body)
    }

    /// The same; a closed connection is no error.
    pub(super) fn tell_if_there(&self, id: &str, body: &str) {
        let headers = signed(SECRET, id, now(), body);
        if let Ok(mut stream) = TcpStream::connect(&self.address) {
            let head = format!("POST / HTTP/1.1\r\nhost: h\r\ncontent-length: {}\r\n", body.len());
            let _ = write!(stream, "{head}{headers}\r\n{body}");
            let _ = stream.read(&mut [0; 64]);
        }
    }

    pub(super) fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args([&format!("-{name}"), &id]).status().unwrap().success());
    }

    pub(super) fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// Waits for its end: the exit code, and the output not read so far.
    pub(super) fn end(mut self) -> (i32, Vec<String>) {
        wait_until("it ends", || self.has_ended());
        (self.child.wait().unwrap().code().unwrap_or(-1), self.stdout.iter().collect())
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Lines as they arrive. The stream is closed once the receiver is dropped.
fn lines_of(stream: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        for line in BufReader::new(stream).lines() {
            if sender.send(line.unwrap()).is_err() {
                break;
            }
        }
    });
    receiver
}

#[allow(clippy::disallowed_methods, reason = "the program looks at the real clock")]
pub(super) fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs().cast_signed()
}

/// A signature by another implementation.
pub(super) fn sign(secret: &str, id: &str, timestamp: i64, body: &str) -> String {
    Webhook::new(secret).unwrap().sign(id, timestamp, body.as_bytes()).unwrap()
}

pub(super) fn headers(id: &str, timestamp: i64, signature: &str) -> String {
    format!("webhook-id: {id}\r\nwebhook-timestamp: {timestamp}\r\nwebhook-signature: {signature}\r\n")
}

/// The headers of a correctly signed body.
pub(super) fn signed(secret: &str, id: &str, timestamp: i64, body: &str) -> String {
    headers(id, timestamp, &sign(secret, id, timestamp, body))
}

/// A server of the user: it records requests and answers each with one reply.
pub(super) struct Target {
    pub(super) url: String,
    pub(super) asked: Receiver<String>,
}

impl Target {
    pub(super) fn start(replies: &[&str]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/hooks?a=b", listener.local_addr().unwrap());
        let replies: Vec<String> = replies.iter().map(|reply| format!("HTTP/1.1 {reply}\r\n\r\n")).collect();
        let (sender, asked) = channel();
        thread::spawn(move || {
            for reply in replies {
                let (mut stream, _) = listener.accept().unwrap();
                let asked = read_request(&mut stream);
                stream.write_all(reply.as_bytes()).unwrap();
                drop(stream);
                let _ = sender.send(asked);
            }
        });
        Self { url, asked }
    }

    pub(super) fn asked(&self) -> String {
        self.asked.recv_timeout(PATIENCE).unwrap()
    }
}

fn read_request(stream: &mut TcpStream) -> String {
    let (mut text, mut buffer) = (String::new(), [0; 4_096]);
    loop {
        let read = stream.read(&mut buffer).unwrap();
        text.push_str(std::str::from_utf8(&buffer[..read]).unwrap());
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap_or("0");
        if body.len() >= length.parse().unwrap() {
            return text;
        }
    }
}
