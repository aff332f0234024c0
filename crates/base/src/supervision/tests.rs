use super::breakage::Breakage;
use super::pulse::{ENDS_S, NOT_READY_S};
use super::*;

fn supervisor() -> Arc<Supervisor> {
    Arc::default()
}

#[tokio::test]
async fn the_end_or_panic_of_a_loop_ends_the_process_and_an_end_after_the_stop_does_not() {
    let ending = supervisor();
    ending.watch("quick", async {}).await;
    assert_eq!(ending.failed().await.to_string(), "the loop `quick` ended");
    let panicking = supervisor();
    panicking.watch("broken", async { panic!("a bug") }).await;
    panicking.watch("quick", async {}).await;
    let failure = panicking.failed().await;
    assert!(failure.to_string().starts_with("the loop `broken` panicked at crates/base/src/"), "{failure}");
    assert_eq!(panicking.trouble(), Some(failure), "the first reason counts");
    assert_eq!(panicking.names(), ["broken", "quick"]);
    let stopping = supervisor();
    stopping.watch_until("over", async {}, || true).await;
    stopping.stop();
    stopping.watch("quick", async {}).await;
    assert_eq!(stopping.failure(), None);
}

#[tokio::test]
async fn a_panic_costs_one_item_and_the_same_panic_of_three_items_ends_the_process() {
    let supervisor = supervisor();
    let item = async |item: &'static str| supervisor.item("loop", item, async { panic!("a bug") }).await;
    assert_eq!(supervisor.item("loop", "well", async { 7 }).await.ok(), Some(7));
    for name in ["one", "one", "one", "one", "two"] {
        let panicked: Result<(), Panic> = item(name).await;
        assert!(panicked.is_err());
    }
    assert_eq!(supervisor.failure(), None, "one poison item that repeats counts once");
    let elsewhere: Result<(), Panic> = supervisor.item_now("loop", "three", || panic!("another bug"));
    assert!(elsewhere.is_err() && supervisor.failure().is_none());
    for call in ["a", "b", "c", "d"] {
        let panicked: Result<(), Panic> =
            supervisor.call("call", call, async { panic!("what strangers send") }).await;
        assert!(panicked.is_err() && supervisor.failure().is_none());
    }
    _ = item("three").await;
    let failure = supervisor.failed().await;
    assert!(matches!(failure.fault, Fault::PanickedOften(_)), "{failure}");
}

#[test]
fn a_thread_that_stops_handling_messages_ends_the_process() {
    for breakage in [Breakage::End, Breakage::Panic] {
        let supervisor = supervisor();
        let (sender, messages) = std::sync::mpsc::channel::<u8>();
        supervisor.break_loop("thread", breakage);
        supervisor.serve_messages("thread", &messages, drop);
        assert_eq!(supervisor.failure().map(|failure| failure.name), Some("thread"), "{breakage:?}");
        drop(sender);
    }
    let supervisor = supervisor();
    let (sender, messages) = std::sync::mpsc::channel();
    sender.send(7).expect("a receiver");
    drop(sender);
    let mut handled = Vec::new();
    supervisor.serve_messages("thread", &messages, |message| handled.push(message));
    assert_eq!((handled, supervisor.failure()), (vec![7], None), "every sender has gone");
}

#[test]
fn a_loop_that_does_not_turn_makes_the_process_not_ready_and_then_ends_it() {
    let supervisor = supervisor();
    let (stuck, patient) = (supervisor.pulse("stuck", false), supervisor.pulse("patient", true));
    let look = |seconds| (0..seconds).for_each(|_| supervisor.look());
    look(1);
    stuck.turn();
    patient.turn();
    look(NOT_READY_S);
    assert_eq!(supervisor.trouble(), None, "it turned after the first look");
    look(1);
    let trouble = supervisor.trouble().expect("a stalled loop");
    assert_eq!(trouble.fault, Fault::Stalled(NOT_READY_S));
    stuck.turn();
    patient.turn();
    look(1);
    assert_eq!(supervisor.trouble(), None, "both turn again");
    stuck.rest();
    look(2 * ENDS_S);
    assert_eq!(supervisor.failure(), None, "one has no work, and the other waits for another machine");
    assert_eq!(supervisor.trouble().map(|failure| failure.name), Some("patient"));
    stuck.turn();
    look(1 + ENDS_S);
    let failure = supervisor.failure().expect("a failure");
    assert_eq!((failure.name, failure.fault), ("stuck", Fault::Stalled(ENDS_S)));
}

#[test]
fn a_thread_that_the_system_refuses_ends_the_process() {
    let supervisor = supervisor();
    supervisor.not_started("store_reader", &std::io::Error::from(std::io::ErrorKind::WouldBlock));
    let failure = supervisor.failure().expect("a failure").to_string();
    assert!(failure.starts_with("the loop `store_reader` could not be started: "), "{failure}");
}
