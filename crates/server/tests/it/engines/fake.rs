//! A fake `overnight-engine`: this test binary, started through a script as its own process.
//!
//! The script keeps the real standard output as descriptor 3, to which the test harness does not write.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The folder for the process's reports. Without the variable, the "test" below does nothing.
const FOLDER_VARIABLE: &str = "FAKE_ENGINE_FOLDER";

/// Writes a script that runs the shell code `first` and then the fake. Each start adds a line with its process id and arguments to the file
/// `starts`.
pub(super) fn script(folder: &Path, first: &str) -> PathBuf {
    let path = folder.join("overnight-engine");
    let binary = std::env::current_exe().unwrap();
    let text = format!(
        "#!/bin/sh\necho $$ \"$@\" >> '{folder}/starts'\n{first}\nexec 3>&1 >/dev/null\n\
         {FOLDER_VARIABLE}='{folder}' exec '{binary}' --exact engines::fake::process --nocapture\n",
        folder = folder.display(),
        binary = binary.display(),
    );
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

pub(super) fn starts(folder: &Path) -> Vec<String> {
    fs::read_to_string(folder.join("starts")).unwrap_or_default().lines().map(str::to_owned).collect()
}

/// Run by the script. A completion whose prompt contains `crash` ends the process with status 3. Others are the
/// name of the account, or the process if the request has none.
#[test]
fn process() {
    if std::env::var_os(FOLDER_VARIABLE).is_none() {
        return;
    }
    let mut input = BufReader::new(std::io::stdin());
    let mut line = String::new();
    input.read_line(&mut line).unwrap();
    let told: serde_json::Value = serde_json::from_str(&line).unwrap();
    let key = told["key"].as_str().unwrap().to_owned();
    assert!(key.len() == 64 && key.bytes().all(|digit| digit.is_ascii_hexdigit()));
    std::thread::spawn(move || {
        _ = input.read_to_end(&mut Vec::new());
        std::process::exit(0);
    });
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    writeln!(File::create("/dev/fd/3").unwrap(), "{{\"listening\": \"{address}\"}}").unwrap();
    let mut health_checks = 0;
    for stream in listener.incoming() {
        answer(&stream.unwrap(), &key, &mut health_checks);
    }
}

fn answer(stream: &TcpStream, key: &str, health_checks: &mut u32) {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while reader.read_line(&mut head).unwrap_or(0) > 2 {}
    let length =
        head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body).unwrap();
    let is_authorized = head.contains(&format!("Bearer {key}"));
    let (status, answer) = match head.split(' ').nth(1) {
        Some("/health") => {
            *health_checks += 1;
            // Its model is loaded after three checks.
            (if *health_checks < 3 { "503 Service Unavailable" } else { "200 OK" }, String::new())
        }
        _ if !is_authorized => ("401 Unauthorized", String::new()),
        Some("/v1/models") => ("200 OK", r#"{"object":"list","data":[{"id":"theirs"}]}"#.to_owned()),
        _ if body.windows(5).any(|part| part == b"crash") => {
            eprintln!("2026-01-01T00:00:00Z ERROR the fake was told to crash");
            std::process::exit(3);
        }
        Some("/v1/embeddings") => ("200 OK", embeddings()),
        _ => {
            let account = head.lines().find_map(|line| line.strip_prefix("overnight-account: "));
            let process = std::process::id().to_string();
            ("200 OK", completion(account.unwrap_or(&process)))
        }
    };
    let head = format!("HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n", answer.len());
    // A client may have disconnected.
    _ = { stream }.write_all((head + &answer).as_bytes());
}

fn completion(content: &str) -> String {
    let message = serde_json::json!({"role": "assistant", "content": content});
    serde_json::json!({
        "object": "chat.completion", "model": "theirs",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    })
    .to_string()
}

fn embeddings() -> String {
    serde_json::json!({
        "object": "list", "model": "theirs",
        "data": [{"object": "embedding", "index": 0, "embedding": [1.0]}],
        "usage": {"prompt_tokens": 1, "total_tokens": 1},
    })
    .to_string()
}
