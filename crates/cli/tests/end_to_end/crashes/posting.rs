//! Clients that post on many connections and record the acknowledgements.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use overnight_client::Client;
use overnight_wire::native::requests::FullRequest;
use tokio::sync::Notify;
use tokio::task::JoinSet;

use super::process::pause;

#[derive(Default)]
pub(super) struct Acknowledged {
    ids: Mutex<Vec<String>>,
    unknown: AtomicUsize,
    bell: Notify,
}

impl Acknowledged {
    pub(super) fn ids(&self) -> Vec<String> {
        self.ids.lock().expect("the list").clone()
    }

    pub(super) fn count(&self) -> usize {
        self.ids.lock().expect("the list").len()
    }

    /// Posts without an answer: each may be stored or not.
    pub(super) fn unknown(&self) -> usize {
        self.unknown.load(Ordering::Relaxed)
    }

    pub(super) async fn wait_for(&self, count: usize) {
        while self.count() < count {
            self.bell.notified().await;
        }
    }
}

/// Posts until `count` requests are acknowledged.
pub(super) struct Poster {
    client: Client,
    model: &'static str,
    left: AtomicUsize,
    acknowledged: Arc<Acknowledged>,
}

impl Poster {
    pub(super) fn new(client: Client, count: usize, model: &'static str) -> (Arc<Self>, Arc<Acknowledged>) {
        let acknowledged = Arc::<Acknowledged>::default();
        (Self::over(client, count, model, &acknowledged), acknowledged)
    }

    /// A poster that shares a record with others.
    pub(super) fn over(
        client: Client,
        count: usize,
        model: &'static str,
        acknowledged: &Arc<Acknowledged>,
    ) -> Arc<Self> {
        let (left, acknowledged) = (AtomicUsize::new(count), Arc::clone(acknowledged));
        Arc::new(Self { client, model, left, acknowledged })
    }

    pub(super) async fn post(self: Arc<Self>, connections: usize) {
        let mut tasks = JoinSet::new();
        for connection in 0..connections {
            let poster = Arc::clone(&self);
            tasks.spawn(async move { poster.post_in_turn(connection).await });
        }
        while let Some(ended) = tasks.join_next().await {
            ended.expect("a poster ends");
        }
    }

    async fn post_in_turn(&self, connection: usize) {
        let mut attempt = 0;
        while self.take_one() {
            loop {
                attempt += 1;
                let content = format!("question {connection}-{attempt}");
                let body = format!(
                    r#"{{"request_body":{{"model":"{}","max_tokens":4,"messages":[{{"role":"user","content":"{content}"}}]}}}}"#,
                    self.model
                );
                if let Ok(created) = self.client.create_request_raw(body).await {
                    self.acknowledged.ids.lock().expect("the list").push(created.id);
                    self.acknowledged.bell.notify_one();
                    break;
                }
                self.acknowledged.unknown.fetch_add(1, Ordering::Relaxed);
                pause(20).await;
            }
        }
    }

    /// Stops it after its current calls.
    pub(super) fn stop(&self) {
        self.left.store(0, Ordering::Relaxed);
    }

    fn take_one(&self) -> bool {
        self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok()
    }
}

/// The user message of a request.
pub(super) fn content_of(record: &FullRequest) -> String {
    let body: serde_json::Value = serde_json::from_str(record.request_body.get()).expect("a body");
    body["messages"][0]["content"].as_str().expect("a content").to_owned()
}
