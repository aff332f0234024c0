//! The supervisor of the embedded engine with real processes and pipes.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use overnight_domain::answers::Completion;
use overnight_domain::chat::CacheSalt;
use overnight_domain::endpoints::Endpoint;
use overnight_domain::json::minimize;
use overnight_domain::scheduler::{AccountKey, AttemptError, ProbeOutcome};
use overnight_engine_clients::{Asked, EmbeddedState, EngineClient, Engines};

use super::{ask, asked, config, fake, start};

/// The folder in which a test's process starts an engine. Without the variable, that "test" does nothing.
const FOLDER_VARIABLE: &str = "EMBEDDED_ENGINE_FOLDER";

const MODEL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../assets/overnight-tiny.gguf");

const VECTORS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../engine/tests/models/tiny-bert.gguf");

/// An engine with this program. It waits for a child as long as a test may take.
fn start_program(program: &Path, more: &str) -> Engines {
    start_model(program, Path::new(MODEL), more)
}

fn start_model(program: &Path, model: &Path, more: &str) -> Engines {
    start(&config(&format!(
        r#"kind = "embedded", engine_path = "{}", model_path = "{}", models = {{ ours = "theirs" }},
           connect_timeout = "30s"{more}"#,
        program.display(),
        model.display()
    )))
}

fn only(engines: &Engines) -> Arc<EngineClient> {
    engines.list().remove(0)
}

/// Waits for a state; returns the reason if the engine is down.
async fn wait_for(engines: &Engines, meant: impl Fn(&EmbeddedState) -> bool) -> String {
    let mut state = only(engines).embedded_state().unwrap();
    let found = tokio::time::timeout(Duration::from_secs(30), state.wait_for(meant)).await;
    match &*found.expect("the state never came").unwrap() {
        EmbeddedState::Down { since, reason } => {
            assert!(*since > 0);
            reason.clone()
        }
        EmbeddedState::Starting | EmbeddedState::Downloading { .. } | EmbeddedState::Ready(_) => {
            String::new()
        }
    }
}

fn is_down(state: &EmbeddedState) -> bool {
    matches!(state, EmbeddedState::Down { .. })
}

fn process_of(completion: &Completion) -> String {
    let body: serde_json::Value = serde_json::from_str(completion.body.as_str()).unwrap();
    body["choices"][0]["message"]["content"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_child_is_started_told_its_key_and_asked_when_it_is_ready() {
    let folder = tempfile::tempdir().unwrap();
    let program = fake::script(folder.path(), "");
    let engines = start_program(&program, ", threads = 2, context = 512, parallel = 3, gpu_layers = 0");
    let listening = || engines.addresses();
    assert_eq!(listening(), []);
    let completion = ask(&only(&engines), "hello").await.unwrap();
    let listed = only(&engines).list_models().await.unwrap();
    assert!(matches!(&listed[..], [model] if model.id == "theirs"), "{listed:?}");
    let arguments =
        format!("--model {MODEL} --name theirs --parallel 3 --threads 2 --context 512 --gpu-layers 0");
    assert_eq!(fake::starts(folder.path()), [format!("{} {arguments}", process_of(&completion))]);
    assert!(matches!(listening()[..], [address] if address.ip().is_loopback() && address.port() > 0));
}

#[tokio::test]
async fn a_child_is_sent_the_name_of_a_requests_account() {
    let folder = tempfile::tempdir().unwrap();
    let engines = start_program(&fake::script(folder.path(), ""), "");
    let account = CacheSalt::new(&[7; 32], AccountKey(5));
    let body = br#"{"model":"ours","messages":[{"role":"user","content":"a"}]}"#;
    let body = minimize(body, 0).unwrap();
    let request = Asked { account: Some(&account), ..asked(Endpoint::ChatCompletions, body.as_json()) };
    let completion = only(&engines).complete(request).await.unwrap();
    assert_eq!(process_of(&completion), account.render_account());
}

#[test]
fn a_childs_environment_is_what_it_computes_with_and_holds_no_secret() {
    const SECRET: &str = "not-for-the-engine";
    let folder = tempfile::tempdir().unwrap();
    let mut service = Command::new(std::env::current_exe().unwrap());
    service
        .args(["--exact", "engines::embedded::service", "--nocapture"])
        .env(FOLDER_VARIABLE, folder.path());
    service.env("CUDA_VISIBLE_DEVICES", "3").env("LC_ALL", "C.UTF-8").env("TZ", "UTC");
    let secrets = "STRIPE_SECRET_KEY STRIPE_WEBHOOK_SECRET OIDC_CLIENT_SECRET GPU0_KEY NVIDIA_API_KEY LLAMA_API_KEY \
        METRICS_TOKEN OVERNIGHT_DATABASE_URL PGPASSWORD AWS_SECRET_ACCESS_KEY";
    for name in secrets.split(' ') {
        service.env(name, SECRET);
    }
    let ended = service.output().unwrap();
    assert!(ended.status.success(), "{ended:?}");
    let environment = std::fs::read_to_string(folder.path().join("environment")).unwrap();
    assert!(!environment.contains(SECRET), "{environment}");
    for line in ["CUDA_VISIBLE_DEVICES=3", "LC_ALL=C.UTF-8", "TZ=UTC", "GGML_NO_BACKTRACE=1"] {
        assert!(environment.lines().any(|found| found == line), "{line}: {environment}");
    }
    // The shell adds its own variables.
    let others =
        environment.lines().filter(|line| line.starts_with("CARGO") || line.starts_with("OVERNIGHT"));
    assert_eq!(others.count(), 0, "{environment}");
}

/// Run by the test above as a process with secrets in its environment: it starts an engine that writes down its environment.
#[tokio::test]
async fn service() {
    let Some(folder) = std::env::var_os(FOLDER_VARIABLE) else { return };
    let folder = Path::new(&folder);
    let engines =
        start_program(&fake::script(folder, &format!("env > '{}/environment'", folder.display())), "");
    ask(&only(&engines), "hello").await.unwrap();
}

#[tokio::test]
async fn a_child_that_crashed_is_started_again_and_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let engines = start_program(&fake::script(folder.path(), ""), "");
    let first = process_of(&ask(&only(&engines), "hello").await.unwrap());
    let error = ask(&only(&engines), "crash").await.unwrap_err();
    assert!(matches!(error, AttemptError::Reset(_)), "{error:?}");
    let reason = wait_for(&engines, is_down).await;
    assert!(reason.starts_with("it ended with exit status: 3"), "{reason}");
    assert!(reason.ends_with("its last words: the fake was told to crash"), "{reason}");
    let second = process_of(&ask(&only(&engines), "hello").await.unwrap());
    assert_ne!(first, second);
    assert_eq!(fake::starts(folder.path()).len(), 2);
}

#[tokio::test]
async fn a_child_ends_with_the_engines() {
    let folder = tempfile::tempdir().unwrap();
    let engines = start_program(&fake::script(folder.path(), ""), "");
    let process = process_of(&ask(&only(&engines), "hello").await.unwrap());
    drop(engines);
    let is_alive = || {
        let state = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        !state.is_empty() && !state.contains(") Z ")
    };
    let wait = async {
        while is_alive() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), wait).await.expect("it outlived the engines");
}

#[tokio::test]
async fn a_child_that_cannot_serve_is_told_of_in_words() {
    for (first, parts) in [
        ("echo 'no such model' >&2; exit 1", ["it ended with exit status: 1", "last words: no such model"]),
        ("echo hello; sleep 60", ["its first line does not say where it listens", "hello"]),
        ("echo '{\"listening\": \"192.0.2.1:80\"}'; sleep 60", ["it listens on 192.0.2.1:80", "own"]),
        ("exec sleep 60 >&-", ["it closed its output", "before saying where it listens"]),
        ("kill -9 $$", ["it ended with signal: 9", ""]),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let engines = start_program(&fake::script(folder.path(), first), "");
        let reason = wait_for(&engines, is_down).await;
        assert!(parts.iter().all(|part| reason.contains(part)), "{first}: {reason}");
    }
}

#[tokio::test]
async fn a_child_is_started_once_its_model_file_is_whole() {
    let folder = tempfile::tempdir().unwrap();
    let model = folder.path().join("model.gguf");
    let whole = std::fs::read(MODEL).unwrap();
    std::fs::write(&model, &whole[..100_000]).unwrap();
    let engines = start_model(&fake::script(folder.path(), ""), &model, "");
    let reason = wait_for(&engines, is_down).await;
    let expected =
        format!("the model {} is cut short: it has 100000 of {} bytes", model.display(), whole.len());
    assert_eq!(reason, expected);
    assert!(fake::starts(folder.path()).is_empty());
    std::fs::write(&model, whole).unwrap();
    ask(&only(&engines), "hello").await.unwrap();
}

#[tokio::test]
async fn a_program_that_is_missing_is_named_in_the_failed_attempt() {
    let engines = start_program(Path::new("/nowhere/overnight-engine"), "");
    wait_for(&engines, is_down).await;
    let brief = start(&config(&format!(
        r#"kind = "embedded", engine_path = "/nowhere/overnight-engine", model_path = "{MODEL}", connect_timeout = "1s""#
    )));
    let error = ask(&only(&brief), "hello").await.unwrap_err();
    let AttemptError::Connect(words) = error else { panic!("{error:?}") };
    assert!(words.contains("embedded engine down: /nowhere/overnight-engine cannot be started"), "{words}");
}

#[tokio::test]
async fn a_model_is_sent_what_it_is_for_and_probed_with_that() {
    for (model, served, other) in [
        (MODEL, Endpoint::ChatCompletions, Endpoint::Embeddings),
        (VECTORS, Endpoint::Embeddings, Endpoint::ChatCompletions),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let engines = start_model(&fake::script(folder.path(), ""), Path::new(model), "");
        let client = only(&engines);
        assert_eq!(client.probe("ours", false).await, ProbeOutcome::Healthy);
        send_to(served, &client).await.unwrap();
        for refused in [other, Endpoint::Completions] {
            match send_to(refused, &client).await.unwrap_err() {
                AttemptError::NotServed(None, words) => {
                    assert!(words.contains(&format!("serves {} only", served.noun())), "{words}");
                }
                error => panic!("{error:?}"),
            }
        }
        assert_eq!(client.probe("ours", false).await, ProbeOutcome::Healthy);
    }
}

async fn send_to(endpoint: Endpoint, client: &Arc<EngineClient>) -> Result<Completion, AttemptError> {
    let body = match endpoint {
        Endpoint::ChatCompletions => r#"{"model":"ours","messages":[{"role":"user","content":"a"}]}"#,
        Endpoint::Completions => r#"{"model":"ours","prompt":"a"}"#,
        Endpoint::Embeddings => r#"{"model":"ours","input":"a"}"#,
    };
    let body = minimize(body.as_bytes(), 0).unwrap();
    let max_tokens = endpoint.has_output().then_some(4);
    client.complete(Asked { max_tokens, ..asked(endpoint, body.as_json()) }).await
}
