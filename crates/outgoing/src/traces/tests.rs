//! Which calls are traced, and spans whose collector takes them, refuses them or is down.

use std::time::Duration;

use overnight_base::clock::{Clock, SystemClock};
use overnight_config::Sources;
use overnight_domain::ids::{AccountId, CallId};
use overnight_domain::scheduler::AccountKey;
use overnight_testkit::receiver::Receiver as Collector;
use overnight_testkit::traces::{ReceivedSpan, spans};
use tokio::sync::oneshot;

use super::*;

const CALLER: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";

struct World {
    config: Config,
    traces: Arc<Traces>,
}

impl World {
    fn new(endpoint: &str, settings: [(&str, &str); 2]) -> Self {
        let mut flags = vec![("traces.endpoint", endpoint)];
        flags.extend(settings);
        let flags = flags.into_iter().map(|(path, value)| (path.to_owned(), value.to_owned())).collect();
        let config = Config::load(&Sources { flags, ..Sources::default() }).expect("settings");
        let clock: SharedClock = Arc::new(SystemClock);
        let traces = Traces::new(config.traces.as_ref(), &clock, &Arc::new(Ids::from_seed(1)));
        Self { config, traces: Arc::new(traces) }
    }

    fn sampling(sample: &str, per_minute: &str) -> Self {
        Self::new(
            "http://127.0.0.1:9/",
            [("traces.sample", sample), ("traces.caller_traces_per_minute", per_minute)],
        )
    }

    /// A call of an account with this `traceparent`; returns the parent spans of its requests.
    fn call(&self, account: i64, traceparent: Option<&str>, requests: usize) -> Vec<Option<TraceContext>> {
        let Some(call) = self.traces.begin_call(traceparent) else { return vec![None; requests] };
        call.identify(AccountKey(account), AccountId::from_bits(7));
        (0..requests).map(|_| call.of_request()).collect()
    }
}

fn traced(requests: &[Option<TraceContext>]) -> usize {
    requests.iter().flatten().count()
}

fn of_caller(request: &Option<TraceContext>) -> bool {
    request.is_some_and(|context| context.trace().to_string() == TRACE)
}

#[test]
fn the_settings_part_of_calls_is_traced_and_a_caller_s_flag_counts_within_its_account_s_budget() {
    let world = World::sampling("0%", "3");
    let unsampled = CALLER.replace("-01", "-00");
    for none in [None, Some("nonsense"), Some(&*unsampled)] {
        assert!(world.traces.begin_call(none).is_none(), "{none:?}");
    }
    // A call and two requests fit into a minute's budget.
    let requests = world.call(1, Some(CALLER), 5);
    assert_eq!(requests.iter().map(of_caller).collect::<Vec<_>>(), [true, true, false, false, false]);
    assert_eq!(traced(&world.call(1, Some(CALLER), 1)), 0);
    assert_eq!(traced(&world.call(2, Some(CALLER), 1)), 1);
    let world = World::sampling("100%", "0");
    assert_eq!(
        world.traces.begin_call(Some(CALLER)).expect("a call").of_request(),
        None,
        "who calls is unknown"
    );
    let requests = world.call(1, Some(CALLER), 2);
    assert!(traced(&requests) == 2 && !requests.iter().any(of_caller), "a trace of our own: {requests:?}");
    let off =
        Arc::new(Traces::new(None, &(Arc::new(SystemClock) as SharedClock), &Arc::new(Ids::from_seed(1))));
    assert!(!off.is_on() && off.begin_call(Some(CALLER)).is_none() && off.unrecorded().is_none());
}

#[test]
fn a_part_of_the_calls_is_the_part_that_the_settings_say_and_of_a_call_so_many_requests() {
    let world = World::sampling("10%", "0");
    let drawn = (0..10_000).filter(|_| world.traces.begin_call(None).is_some()).count();
    assert!((800..1_200).contains(&drawn), "{drawn}");
    let world = World::sampling("100%", "1000000");
    for traceparent in [None, Some(CALLER)] {
        let requests = world.call(1, traceparent, 150);
        assert!(requests[..100].iter().all(Option::is_some) && requests[100..].iter().all(Option::is_none));
        assert!(requests[..100].iter().all(|request| of_caller(request) == traceparent.is_some()));
    }
}

async fn collected(collector: &Collector) -> Vec<ReceivedSpan> {
    spans(&collector.received()).expect("spans by the standard")
}

async fn wait_for(what: &str, mut is_so: impl FnMut() -> bool) {
    let waiting = async {
        while !is_so() {
            SystemClock.sleep_until(SystemClock.now() + 10).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), waiting).await.expect(what);
}

fn record(world: &World, count: usize) {
    for number in 0..count {
        let parent = world.traces.draw().expect("a trace");
        world.traces.record(
            parent,
            "test",
            SystemClock.now(),
            vec![("number", (number as i64).into())],
            None,
        );
    }
}

fn recording(endpoint: &str) -> World {
    World::new(endpoint, [("traces.sample", "100%"), ("traces.service_name", "night")])
}

#[tokio::test]
async fn spans_arrive_as_the_standard_has_them_while_the_process_runs_and_at_its_end() {
    let collector = Collector::start().await.expect("a collector");
    let world = recording(&collector.url("/otlp/"));
    let exporter = world.traces.exporter(&world.config).expect("an exporter").expect("the only one");
    assert!(world.traces.exporter(&world.config).expect("no error").is_none());
    let (stop, stopped) = oneshot::channel::<()>();
    let running = tokio::spawn(exporter.run(async { _ = stopped.await }));
    let call = world.traces.begin_call(Some(CALLER)).expect("a call");
    call.identify(AccountKey(1), AccountId::from_bits(7));
    let request = call.of_request().expect("a context");
    call.end(CallId::from_bits(9), "POST", "/v1/requests", 503, Duration::from_micros(1_500));
    wait_for("it comes while the process runs", || collector.count() == 1).await;
    let mut attempt = world.traces.begin(request, "chat m".to_owned(), SpanKind::Client).expect("a span");
    let traceparent = attempt.traceparent();
    attempt.set("gen_ai.response.finish_reasons", vec!["stop".to_owned(), "a \"b\"".to_owned()]);
    attempt.end(None);
    drop(world.traces.begin(request, "chat n".to_owned(), SpanKind::Client));
    stop.send(()).expect("it runs");
    running.await.expect("an end");
    let spans = collected(&collector).await;
    let [server, done, aborted] = &spans[..] else { panic!("{spans:?}") };
    assert_eq!(
        (&*server.trace, &*server.parent, server.kind, server.is_error, &*server.service),
        (TRACE, "b7ad6b7169203331", 2, true, "night")
    );
    assert_eq!(server.name, "POST /v1/requests");
    assert_eq!(server.attribute("http.response.status_code"), "503");
    assert_eq!(server.attribute("overnight.account.id"), AccountId::from_bits(7).to_string());
    assert_eq!(server.attribute("overnight.call.id"), CallId::from_bits(9).to_string());
    assert_eq!(server.time.1 - server.time.0, 1_500_000);
    assert_eq!(traceparent, format!("00-{TRACE}-{}-01", done.id));
    assert_eq!(done.attribute("gen_ai.response.finish_reasons"), r#"["stop","a \"b\""]"#);
    assert!((&done.parent, &aborted.parent) == (&server.id, &server.id) && done.kind == 3 && !done.is_error);
    assert!(aborted.is_error && aborted.attribute("error.type") == "aborted", "{aborted:?}");
}

#[tokio::test]
async fn spans_that_have_no_room_are_dropped_and_nobody_waits_for_a_collector() {
    let collector = Collector::start().await.expect("a collector");
    let world = recording(&collector.url(""));
    record(&world, WAITING_MAX + 5);
    let exporter = world.traces.exporter(&world.config).expect("an exporter").expect("the only one");
    exporter.run(std::future::ready(())).await;
    let spans = collected(&collector).await;
    let numbers: Vec<&str> = spans.iter().map(|span| span.attribute("number")).collect();
    assert_eq!((numbers.len(), numbers.last()), (WAITING_MAX, Some(&&*(WAITING_MAX - 1).to_string())));
    // A collector that never answers delays the end of the process by a few seconds.
    let hanging = recording(&collector.url("/hang"));
    record(&hanging, 1);
    let exporter = hanging.traces.exporter(&hanging.config).expect("an exporter").expect("the only one");
    let began_at = SystemClock.now();
    exporter.run(std::future::ready(())).await;
    assert!((2_900..9_000).contains(&(SystemClock.now() - began_at)));
    collector.let_go();
}

#[tokio::test]
async fn a_batch_that_the_collector_refuses_is_dropped_and_one_that_it_cannot_take_now_comes_again() {
    for (path, tries) in [("/status/400", 1), ("/flaky/1", 1), ("/status/503", 2)] {
        let collector = Collector::start().await.expect("a collector");
        let world = recording(&collector.url(path));
        let exporter = world.traces.exporter(&world.config).expect("an exporter").expect("the only one");
        let (stop, stopped) = oneshot::channel::<()>();
        let running = tokio::spawn(exporter.run(async { _ = stopped.await }));
        record(&world, 1);
        wait_for("it comes", || collector.count() == tries).await;
        record(&world, 1);
        if path != "/status/503" {
            wait_for("the next one comes", || collector.count() == 2).await;
        }
        stop.send(()).expect("it runs");
        running.await.expect("an end");
        let numbers = |call: &overnight_testkit::receiver::Received| {
            let body = String::from_utf8_lossy(&call.body).into_owned();
            body.matches("\"spanId\"").count()
        };
        let sent: Vec<usize> = collector.received().iter().map(numbers).collect();
        // Refused spans are not sent again; spans of a failed call are, with newer ones.
        let expected: &[usize] = if path == "/status/503" { &[1, 1, 2] } else { &[1, 1] };
        assert_eq!(sent, expected, "{path}");
    }
}

#[test]
fn what_a_collector_says_that_it_did_not_take_counts_as_dropped() {
    for (answer, rejected) in [
        ("", 0),
        ("{}", 0),
        (r#"{"partialSuccess":{}}"#, 0),
        (r#"{"partialSuccess":{"rejectedSpans":"3","errorMessage":"no"}}"#, 3),
        (r#"{"partialSuccess":{"rejectedSpans":4}}"#, 4),
        ("\u{0}protobuf", 0),
    ] {
        assert_eq!(otlp::rejected(answer.as_bytes()), rejected, "{answer}");
    }
}
