//! The delivering worker: when it looks, what it starts, and the outcomes of its tries, on clocks under the test's control.

use std::collections::BTreeSet;
use std::sync::Arc;

use metrics_exporter_prometheus::PrometheusBuilder;
use overnight_app::Services;
use overnight_app::webhooks::{self, DeliveryRecord, EventState};
use overnight_runtime::workers::deliverer::Deliverer;
use overnight_store::outbox;
use serde_json::json;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::support::{Asked, Names, Receiver, Stepped, Then, insecure, sender_at, soon};
use crate::support::{Log, START, TestApp};

/// Settings that allow webhooks to this machine.
const SETTINGS: [(&str, &str); 3] =
    [("webhooks.allow_insecure_targets", "true"), ("webhooks.retries", r#"["10s", "20s"]"#), ("drain", "7s")];

/// A running deliverer with its own clock.
struct Work {
    clock: Arc<Asked>,
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl Work {
    /// Starts it. The tries have another clock, which is stopped.
    fn begin(app: &TestApp) -> Self {
        let clock = Asked::at(START);
        let services = Services { clock: clock.clone(), ..app.services.clone() };
        let sender = sender_at(&insecure(), Names::none(), Stepped::at(START));
        let (stop, stopped) = oneshot::channel::<()>();
        let stopped = async move { drop(stopped.await) };
        Self { clock, stop, task: tokio::spawn(Deliverer::new(services, sender).run(stopped)) }
    }

    async fn end(self) {
        drop(self.stop);
        soon(self.task, "the deliverer ends").await.unwrap();
    }
}

/// Ends a request whose webhook is `url`.
async fn tell(app: &TestApp, url: &str) {
    let mut request = TestApp::quick_start("told");
    request["webhook"] = json!(url);
    let id = app.client().post("/v1/requests", &request).await.checked(201).id();
    app.client().post(&format!("/v1/requests/{id}/cancel"), &json!({})).await.checked(200);
}

/// The finished tries, oldest first, once there are `count`.
async fn tries(app: &TestApp, count: usize) -> Vec<DeliveryRecord> {
    let all = async {
        loop {
            let mut tries = webhooks::list_deliveries(&app.services, None, None, 99).await.unwrap();
            tries.retain(|it| it.duration_ms.is_some());
            if tries.len() >= count {
                tries.reverse();
                return tries;
            }
            tokio::task::yield_now().await;
        }
    };
    soon(all, "tries").await
}

#[tokio::test]
async fn who_has_nothing_to_do_looks_again_within_half_a_second() {
    let app = TestApp::start_with(&SETTINGS).await;
    let work = Work::begin(&app);
    soon(work.clock.asked_for(START + 500), "a look").await;
    work.clock.set(START + 500);
    soon(work.clock.asked_for(START + 1_000), "another look").await;
    assert_eq!(work.clock.asked(), [START + 500, START + 1_000], "it does not look without end, nor rest");
    let clock = Arc::clone(&work.clock);
    work.end().await;
    let expected = Some(&(START + 500 + 7_000));
    assert_eq!(clock.asked().last(), expected, "what is under way would have had so long");
    app.stop().await;
}

#[tokio::test]
async fn a_failed_try_is_made_again_after_its_delay_and_given_up_behind_the_last() {
    let log = Log::keep();
    let app = TestApp::start_with(&SETTINGS).await;
    let answer = "HTTP/1.1 500 No\r\ncontent-length: 0\r\n\r\n";
    let receiver = Receiver::start("127.0.0.2:0", answer, Then::Close).await;
    tell(&app, &receiver.url("/")).await;
    let work = Work::begin(&app);
    let (mut now, mut due) = (START, Vec::new());
    for number in 1..=3 {
        let tries = tries(&app, number).await;
        assert_eq!((tries[number - 1].number, tries[number - 1].started_at), (number as i64, now));
        assert_eq!((tries[number - 1].status, &tries[number - 1].failure), (Some(500), &None));
        let event = outbox::find(&app.services.store, tries[0].event).await.unwrap().unwrap();
        assert_eq!(event.tries, number as i64);
        let Some(due_at) = event.due_at else {
            assert_eq!((event.state, event.ended_at), (EventState::Exhausted, Some(now)));
            break;
        };
        assert_eq!(event.state, EventState::Live);
        due.push(due_at - now);
        work.clock.set(due_at - 1);
        // The next event, which is not due yet.
        soon(work.clock.asked_for(due_at), "a look for what comes next").await;
        now = due_at;
        work.clock.set(now);
    }
    assert_eq!(due.len(), 2);
    assert!((9_000..=11_000).contains(&due[0]) && (18_000..=22_000).contains(&due[1]), "{due:?}");
    // It logs after it has stored.
    work.end().await;
    assert_eq!(receiver.calls().len(), 3);
    assert_eq!(log.lines_with("events exhausted").len(), 1);
    assert_eq!(log.lines_with("webhook not delivered").len(), 3);
    app.stop().await;
}

#[tokio::test]
async fn a_lane_has_several_under_way_and_who_has_ended_makes_room() {
    let app = TestApp::start_with(&SETTINGS).await;
    let log = Log::keep();
    let silent = Receiver::start("127.0.0.2:0", "", Then::Hold).await;
    let quick = Receiver::well("127.0.0.3:0").await;
    for _ in 0..3 {
        tell(&app, &silent.url("/")).await;
    }
    for _ in 0..20 {
        tell(&app, &quick.url("/")).await;
    }
    let work = Work::begin(&app);
    let called = async {
        while silent.calls().len() < 3 {
            tokio::task::yield_now().await;
        }
    };
    soon(called, "three are called while none has answered, and no time passes").await;
    let mut now = START;
    while quick.calls().len() < 20 {
        // Its lane has room for eight at a time; each later look finds room again.
        now += 500;
        work.clock.set(now);
        soon(work.clock.asked_for(now + 500), "a look").await;
    }
    tries(&app, 20).await;
    // A running try may take as long as the settings allow, and no longer.
    let (clock, task) = (Arc::clone(&work.clock), work.task);
    drop(work.stop);
    soon(clock.asked_for(now + 7_000), "it stops").await;
    clock.set(now + 6_999);
    for _ in 0..1_000 {
        tokio::task::yield_now().await;
    }
    assert!(!task.is_finished());
    clock.set(now + 7_000);
    soon(task, "the deliverer ends").await.unwrap();
    assert_eq!(log.lines_with("webhook not delivered").len(), 0);
    assert_eq!(log.lines_with("exhausted").len(), 0);
    app.stop().await;
}

#[tokio::test]
async fn the_more_lanes_there_are_the_longer_it_rests_between_two_looks() {
    let app = TestApp::start_with(&SETTINGS).await;
    for host in 0..250 {
        tell(&app, &format!("https://h{host}.example/")).await;
    }
    let lanes = outbox::list_lanes(&app.services.store).await.unwrap().len();
    assert!((101..200).contains(&lanes), "{lanes}");
    let work = Work::begin(&app);
    soon(work.clock.asked_for(START + 1), "a rest of a millisecond").await;
    // It sleeps until the clock advances.
    work.task.abort();
    app.stop().await;
}

#[tokio::test]
async fn the_figures_say_how_many_tries_are_under_way_and_for_how_long_the_oldest_event_is_due() {
    let recorder = PrometheusBuilder::new().build_recorder();
    let figures = recorder.handle();
    let app = TestApp::start_with(&SETTINGS).await;
    let silent = Receiver::start("127.0.0.2:0", "", Then::Hold).await;
    for _ in 0..9 {
        tell(&app, &silent.url("/")).await;
    }
    let _counting = metrics::set_default_local_recorder(&recorder);
    let work = Work::begin(&app);
    work.clock.set(START + 4_000);
    // One more than its lane has room for.
    let called = async {
        while silent.calls().len() < 8 {
            tokio::task::yield_now().await;
        }
    };
    soon(called, "eight are called").await;
    let shown = figures.render();
    for figure in ["overnight_webhooks_in_flight 8\n", "overnight_webhook_oldest_due_seconds 4\n"] {
        assert!(shown.contains(figure), "{figure}{shown}");
    }
    work.task.abort();
    app.stop().await;
}

#[tokio::test]
async fn what_failed_together_is_not_tried_again_together() {
    let app = TestApp::start_with(&SETTINGS).await;
    for host in 0..8 {
        tell(&app, &format!("https://h{host}.example/")).await;
    }
    let work = Work::begin(&app);
    let mut due = BTreeSet::new();
    for tried in tries(&app, 8).await {
        assert_eq!(tried.failure.as_deref(), Some("unresolved"));
        due.insert(outbox::find(&app.services.store, tried.event).await.unwrap().unwrap().due_at);
    }
    assert!(due.len() > 1, "{due:?}");
    work.end().await;
    app.stop().await;
}
