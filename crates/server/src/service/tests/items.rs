//! A panic on one item affects only that item: the loop continues, the service stays ready, and other items are done.

use overnight_testkit::engine::{SimConfig, SimEngine};

use super::*;

const BODY: &str = r#"{"request_body":{"model":"m","messages":[{"role":"user","content":"Hello"}]}}"#;

/// A service whose engine answers.
struct World {
    folder: tempfile::TempDir,
    engine: SimEngine,
    service: Service,
    key: String,
}

impl World {
    async fn start() -> Self {
        let engine = SimEngine::start(SimConfig::default()).expect("an engine");
        let folder = tempfile::tempdir().expect("a folder");
        let service = Service::start(Self::config(folder.path(), &engine)).await.expect("a service");
        let key = service.bootstrapped().expect("a first start").key.clone();
        Self { folder, engine, service, key }
    }

    fn config(folder: &Path, engine: &SimEngine) -> Config {
        let engines = format!(
            r#"[{{ name = "e", kind = "openai", base_url = "{}", models = {{ m = "sim-model" }} }}]"#,
            engine.base_url()
        );
        let given = [("aggregation_period", "50ms"), ("drain", "1s")];
        config_with(folder, &engines, &given)
    }

    /// From now on items of this loop panic, and of no other.
    fn break_items(&self, name: Option<&'static str>) {
        self.service.services().supervisor.break_items(name);
    }

    async fn get(&self, path: &str) -> String {
        call(&self.service, &format!("GET {path}"), &self.key, "").await.expect("an answer")
    }

    /// The first answer that has one of these texts.
    async fn wait_for(&self, path: &str, texts: &[&str]) -> String {
        let answered = async {
            loop {
                let answer = self.get(path).await;
                if texts.iter().any(|text| answer.contains(text)) {
                    return answer;
                }
                let clock = &self.service.services().clock;
                clock.sleep_until(clock.now() + 50).await;
            }
        };
        timeout(Duration::from_secs(60), answered).await.expect(path)
    }

    async fn wait_for_end(&self, id: &str) -> String {
        self.wait_for(&format!("/v1/requests/{id}"), &["\"completed\"", "\"failed\""]).await
    }

    /// Checks that a new request completes.
    async fn check_well(&self) {
        self.break_items(None);
        let id = create(&self.service, &self.key).await;
        let ended = self.wait_for_end(&id).await;
        assert!(ended.contains("\"completed\""), "{ended}");
        assert!(self.get("/readyz").await.starts_with("HTTP/1.1 200"));
    }

    async fn stop(self) {
        assert_eq!(self.service.services().supervisor.failure(), None);
        self.service.shutdown().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_attempt_that_panics_counts_as_failed_and_three_starts_with_it_are_no_crash_loop() {
    let mut world = World::start().await;
    world.break_items(Some("attempts"));
    let poison = create(&world.service, &world.key).await;
    for _ in 0..3 {
        let pending = async {
            // The engine's probe decides after each attempt, so some seconds pass between two.
            let clock = Arc::clone(&world.service.services().clock);
            clock.sleep_until(clock.now() + 1_500).await;
        };
        pending.await;
        assert_eq!(world.service.services().supervisor.failure(), None);
        world.service.shutdown().await;
        world.service =
            Service::start(World::config(world.folder.path(), &world.engine)).await.expect("a start");
        world.break_items(Some("attempts"));
    }
    let failed = world.wait_for(&format!("/v1/requests/{poison}"), &["\"attempts\":[{"]).await;
    assert!(failed.contains("\"in progress\"") && failed.contains("500"), "{failed}");
    world.check_well().await;
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_batch_whose_lines_panic_is_set_aside_and_the_next_is_filled() {
    let world = World::start().await;
    let path = "/anthropic/v1/messages/batches";
    let body = r#"{"requests":[{"custom_id":"a","params":{"model":"m","max_tokens":5,"messages":[{"role":"user","content":"Hi"}]}}]}"#;
    for broken in [Some("filler_batches"), Some("filler_lines"), None] {
        world.break_items(broken);
        let made = call(&world.service, &format!("POST {path}"), &world.key, body).await.expect("an answer");
        assert!(made.starts_with("HTTP/1.1 200"), "{made}");
        let (_, id) = made.split_once("\"id\":\"").expect("an identifier");
        let id = id.split('"').next().expect("its end");
        let ended = world.wait_for(&format!("{path}/{id}"), &["\"ended\""]).await;
        assert_eq!(ended.contains("\"succeeded\":1"), broken.is_none(), "{broken:?}: {ended}");
    }
    world.check_well().await;
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn panics_of_writes_reads_commands_and_worker_runs_stop_no_loop() {
    for name in
        ["store_writer", "store_reader", "scheduler_commands", "settling", "expirer", "call", "connection"]
    {
        let world = World::start().await;
        world.break_items(Some(name));
        // The outcome depends on the loop.
        _ = call(&world.service, "POST /v1/requests", &world.key, BODY).await;
        let clock = Arc::clone(&world.service.services().clock);
        clock.sleep_until(clock.now() + 1_200).await;
        assert_eq!(world.service.services().supervisor.failure(), None, "{name}");
        world.check_well().await;
        world.stop().await;
    }
}
