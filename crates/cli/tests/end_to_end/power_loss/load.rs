//! The program under a load of every kind of write, with its calls logged.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use overnight_client::Client;
use overnight_testkit::engine::{SimConfig, SimEngine};
use overnight_wire::native::batches::CreateBatch;
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

use super::checking::scratch;
use super::recorded::Recorded;
use super::shim::{self, FailingCall};
use crate::support::{program, wait_until};

const CLIENTS: usize = 6;
/// Rounds of each client before the program is killed.
const ROUNDS: usize = 12;
/// Requests of a client in a round.
const REQUESTS: usize = 3;
const PATIENCE: Duration = Duration::from_secs(60);

/// A run of `overnight serve` from an empty folder to a kill. A failing call may end it earlier, or prevent its start.
pub(super) fn recorded(failing: Option<FailingCall>) -> Recorded {
    let runtime = Runtime::new().unwrap();
    let _inside = runtime.enter();
    let engine = SimEngine::start(SimConfig::default()).unwrap();
    let folder = scratch();
    let (data, log) = (folder.path().join("data"), folder.path().join("log"));
    fs::create_dir(&data).unwrap();
    let settings = folder.path().join("overnight.toml");
    let engine =
        format!("[[engines]]\nname = \"sim\"\nkind = \"openai\"\nbase_url = \"{}\"\n", engine.base_url());
    let head = format!(
        "listen = \"127.0.0.1:0\"\ndata_dir = \"{}\"\naggregation_period = \"20ms\"\n",
        data.display()
    );
    fs::write(&settings, format!("{head}[[models]]\nname = \"sim-model\"\n{engine}")).unwrap();
    let mut command = program();
    command.arg("serve").arg("--quiet").arg("--config").arg(&settings);
    shim::put_before(&mut command, &data, &log, failing);
    let mut service = start(&mut command);
    if is_serving(&mut service, &data) {
        runtime.block_on(write_for_a_while(&data));
    }
    let _ = service.kill();
    service.wait().unwrap();
    Recorded::read(data, &fs::read(log).unwrap())
}

fn start(command: &mut Command) -> Child {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// Waits until the service is ready or has ended; true if it is ready.
fn is_serving(service: &mut Child, data: &Path) -> bool {
    let mut is_up = false;
    wait_until("the service serves or ends", || {
        is_up = data.join("serve.json").exists() && data.join("api-key").exists();
        is_up || service.try_wait().unwrap().is_some()
    });
    is_up
}

async fn write_for_a_while(data: &Path) {
    let key = fs::read_to_string(data.join("api-key")).unwrap();
    let told: serde_json::Value =
        serde_json::from_slice(&fs::read(data.join("serve.json")).unwrap()).unwrap();
    let client = Client::new(told["url"].as_str().unwrap(), key.trim()).unwrap().with_retries(0);
    let mut clients = JoinSet::new();
    for number in 0..CLIENTS {
        let client = client.clone();
        clients.spawn(async move {
            for round in 0..ROUNDS {
                // A failed call is in the log without a fact.
                let _ = tokio::time::timeout(PATIENCE, write(&client, number, round)).await;
            }
        });
    }
    clients.join_all().await;
}

async fn write(client: &Client, number: usize, round: usize) -> Result<(), overnight_client::Error> {
    let mut ids = Vec::new();
    for request in 0..REQUESTS {
        let content = format!("question {number}-{round}-{request} {}", "and more ".repeat(round * 20));
        let body = serde_json::json!({"request_body": {
            "model": "sim-model", "max_tokens": 4, "messages": [{"role": "user", "content": content}],
        }});
        ids.push(client.create_request_raw(body.to_string()).await?.id);
    }
    let batch = CreateBatch { requests_ids: ids.clone(), webhook: None, metadata: None };
    let batch = client.create_batch(&batch).await?.id;
    match round % 4 {
        0 => drop(client.cancel_batch(&batch).await?),
        1 => drop(client.cancel_request(&ids[0]).await?),
        _ => {}
    }
    for id in &ids {
        client.get_request(id).await?;
    }
    client.get_batch(&batch).await?;
    Ok(())
}
