//! A service whose embedded engine has an embedding model with random weights.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::{Ran, Running, lines, program, wait_until};

const MODEL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../engine/tests/models/tiny-bert.gguf");

struct Served {
    folder: TempDir,
    _serving: Running,
}

impl Served {
    /// `None` if the engine is not built.
    fn start() -> Option<Self> {
        let engine = Path::new(env!("CARGO_BIN_EXE_overnight")).with_file_name("overnight-engine");
        if !engine.exists() {
            eprintln!("skipped: {} is not built", engine.display());
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        let settings = format!(
            "listen = \"127.0.0.1:0\"\ndata_dir = \"data\"\naggregation_period = \"50ms\"\n[[models]]\nname = \"vectors\"\n\
             [[engines]]\nname = \"local\"\nkind = \"embedded\"\nmodel_path = \"{MODEL}\"\n"
        );
        fs::write(folder.path().join("overnight.toml"), settings).unwrap();
        let serving = Running::of(program().args(["serve", "--quiet"]).current_dir(folder.path()));
        wait_until("the service says where it is", || folder.path().join("data/serve.json").exists());
        Some(Self { folder, _serving: serving })
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.folder.path().join(name)).unwrap()
    }

    fn curl(&self, path: &str, arguments: &[&str]) -> String {
        let address: Value = serde_json::from_str(&self.read("data/serve.json")).unwrap();
        let key = format!("Authorization: Bearer {}", self.read("data/api-key").trim());
        let url = format!("{}/openai/v1{path}", address["url"].as_str().unwrap());
        let mut curl = Command::new("curl");
        curl.args(["-s", &url, "-H", &key]).args(arguments).current_dir(self.folder.path());
        String::from_utf8(curl.output().unwrap().stdout).unwrap()
    }

    fn ask(&self, path: &str, arguments: &[&str]) -> Value {
        let told = self.curl(path, arguments);
        serde_json::from_str(&told).unwrap_or_else(|_| panic!("{path}: {told}"))
    }
}

#[test]
fn its_vectors_come_over_http_and_out_of_batch_files_and_it_chats_with_nobody() {
    let Some(served) = Served::start() else { return };
    let body = json!({"model": "vectors", "input": ["the night", "a batch waits"], "dimensions": 16});
    let direct = served.ask("/embeddings", &["--json", &body.to_string()]);
    assert_eq!(direct["data"].as_array().unwrap().len(), 2, "{direct}");
    assert_eq!(direct["data"][1]["embedding"].as_array().unwrap().len(), 16);
    let tokens = direct["usage"]["prompt_tokens"].as_u64().unwrap();
    assert!(tokens > 4, "{direct}");

    let line = |id: &str, body: &Value| json!({"custom_id": id, "method": "POST", "url": "/v1/embeddings", "body": body});
    let long = json!({"model": "vectors", "input": "a ".repeat(500)});
    let file = format!("{}\n{}\n", line("good", &body), line("long", &long));
    fs::write(served.folder.path().join("batch.jsonl"), file).unwrap();
    let file = served.ask("/files", &["-F", "purpose=batch", "-F", "file=@batch.jsonl"]);
    let batch =
        json!({"input_file_id": file["id"], "endpoint": "/v1/embeddings", "completion_window": "24h"});
    let batch = served.ask("/batches", &["--json", &batch.to_string()]);
    let path = format!("/batches/{}", batch["id"].as_str().unwrap());
    wait_until("the batch ends", || served.ask(&path, &[])["status"] == "completed");
    let ended = served.ask(&path, &[]);
    let content = |id: &Value| lines(&served.curl(&format!("/files/{}/content", id.as_str().unwrap()), &[]));
    let results = content(&ended["output_file_id"]);
    assert_eq!(results.len(), 1, "{results:?}");
    assert_eq!(results[0]["response"]["body"]["data"], direct["data"]);
    assert_eq!(results[0]["response"]["body"]["usage"]["prompt_tokens"], tokens);
    let errors = content(&ended["error_file_id"]);
    assert!(
        errors.len() == 1 && errors[0].to_string().contains("The context holds 128 tokens"),
        "{errors:?}"
    );

    let chat = json!({"model": "vectors", "messages": [{"role": "user", "content": "hi"}]});
    let refused = served.curl("/chat/completions", &["--json", &chat.to_string()]);
    assert!(refused.contains("serves embeddings only"), "{refused}");
}

#[test]
fn doctor_names_an_embedding_model() {
    let Some(served) = Served::start() else { return };
    let doctor = Ran::from(program().arg("doctor").current_dir(served.folder.path()).output().unwrap());
    let line = doctor.stdout.lines().find(|line| line.starts_with("ok    engine local: ")).unwrap();
    assert!(line.ends_with("tiny-bert.gguf, an embedding model"), "{line}");
}
