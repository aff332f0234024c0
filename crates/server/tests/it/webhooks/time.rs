//! Slow receivers, on a clock under the test's control.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use overnight_base::clock::{Clock, Sleep};
use overnight_domain::webhooks::{Answer, TIMEOUT_MS};
use overnight_outgoing::webhooks::{Failure, Message, Sender, Tried};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::support::{
    Lingering, Names, Receiver, Silent, Stepped, Then, deaf, insecure, message, outcome, send, sender_at,
    soon, taken_in, two_addresses,
};

const NOW: i64 = 1_700_000_000_000;

fn spawn(sender: Sender, url: String) -> JoinHandle<Tried> {
    tokio::spawn(async move { sender.send(message(&url)).await })
}

/// Gives all tasks several turns.
async fn settle() {
    for _ in 0..1_000 {
        tokio::task::yield_now().await;
    }
}

/// The result of a try at the end of its time and not before, once the receiver has written this much.
async fn out_of_time(receiver: &Receiver, written: usize) -> Tried {
    let clock = Stepped::at(NOW);
    let trying = spawn(sender_at(&insecure(), Names::none(), clock.clone()), receiver.url("/"));
    let peer = soon(receiver.has_written(written), "it writes").await;
    if written > 0 {
        soon(taken_in(receiver.address, peer), "it is read").await;
    }
    clock.set(NOW + TIMEOUT_MS - 1);
    settle().await;
    assert!(!trying.is_finished());
    clock.set(NOW + TIMEOUT_MS);
    let tried = soon(trying, "a try ends").await.unwrap();
    soon(receiver.is_hung_up(), "the connection is closed").await;
    assert_eq!(tried.duration_ms, TIMEOUT_MS);
    tried
}

#[tokio::test]
async fn a_receiver_that_never_answers_is_given_up_and_a_slow_body_does_not_undo_a_status() {
    for (start, expected) in [
        ("", Err(Failure::TimedOut)),
        ("HTTP/1.1 200 OK\r\ncontent-le", Err(Failure::TimedOut)),
        ("HTTP/1.1 100 Continue\r\n\r\n", Err(Failure::TimedOut)),
        ("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nabc", Ok(200)),
        ("HTTP/1.1 500 OK\r\ncontent-length: 100\r\n\r\nabc", Ok(500)),
    ] {
        let receiver = Receiver::start("127.0.0.2:0", start, Then::Hold).await;
        assert_eq!(outcome(&out_of_time(&receiver, start.len()).await), expected, "{start:?}");
    }
}

#[tokio::test]
async fn who_says_forever_that_an_answer_comes_is_given_up() {
    let receiver =
        Receiver::start("127.0.0.2:0", "", Then::Repeat(b"HTTP/1.1 102 Processing\r\nx: y\r\n\r\n")).await;
    let clock = Stepped::at(NOW);
    let trying = spawn(sender_at(&insecure(), Names::none(), clock.clone()), receiver.url("/"));
    soon(receiver.has_written(1 << 20), "it writes").await;
    clock.set(NOW + TIMEOUT_MS);
    let tried = soon(trying, "a try ends").await.unwrap();
    assert_eq!(outcome(&tried), Err(Failure::TimedOut));
}

#[tokio::test]
async fn a_name_is_waited_for_no_longer_than_a_connection() {
    let clock = Stepped::at(NOW);
    let trying = spawn(sender_at(&insecure(), Silent, clock.clone()), "http://hook.example/".to_owned());
    settle().await;
    clock.set(NOW + 4_999);
    settle().await;
    assert!(!trying.is_finished());
    clock.set(NOW + 5_000);
    let tried = soon(trying, "a try ends").await.unwrap();
    assert_eq!((tried.failure, tried.duration_ms), (Some(Failure::Unresolved), 5_000));
}

#[tokio::test]
async fn an_address_that_does_not_answer_leaves_time_for_the_next() {
    let (silent, good) = two_addresses();
    let _deaf = deaf(silent);
    let receiver = Receiver::well(&good.to_string()).await;
    let names = Names::one("hook.example", &["127.0.0.1", "127.0.0.2"]);
    let clock = Stepped::at(NOW);
    let url = format!("http://hook.example:{}/", good.port());
    let trying = spawn(sender_at(&insecure(), names, clock.clone()), url);
    settle().await;
    clock.set(NOW + 2_499);
    settle().await;
    assert!(receiver.calls().is_empty() && !trying.is_finished());
    clock.set(NOW + 2_500);
    let tried = soon(trying, "a try ends").await.unwrap();
    assert_eq!((tried.answer, tried.duration_ms), (Answer::Status(200), 2_500));
}

#[tokio::test]
async fn nobody_who_takes_the_connection_is_given_up_early() {
    let (silent, _) = two_addresses();
    let _deaf = deaf(silent);
    let clock = Stepped::at(NOW);
    let trying = spawn(sender_at(&insecure(), Names::none(), clock.clone()), format!("http://{silent}/"));
    settle().await;
    clock.set(NOW + 5_000);
    let tried = soon(trying, "a try ends").await.unwrap();
    assert_eq!((tried.failure, tried.duration_ms), (Some(Failure::Unreachable), 5_000));
}

#[tokio::test]
async fn who_takes_the_connection_and_no_tls_is_given_up() {
    let listener = TcpListener::bind("127.0.0.2:0").await.unwrap();
    let clock = Stepped::at(NOW);
    let sender = sender_at(&insecure(), Names::none(), clock.clone());
    let trying = spawn(sender, format!("https://{}/", listener.local_addr().unwrap()));
    let (stream, _) = soon(listener.accept(), "a connection").await.unwrap();
    // It is connected and has greeted.
    soon(stream.readable(), "a greeting").await.unwrap();
    clock.set(NOW + TIMEOUT_MS);
    let tried = soon(trying, "a try ends").await.unwrap();
    assert_eq!((tried.failure, tried.duration_ms), (Some(Failure::TimedOut), TIMEOUT_MS));
}

#[tokio::test]
async fn a_try_that_is_dropped_closes_its_connection() {
    let receiver = Receiver::start("127.0.0.2:0", "HTTP/1.1 200 OK\r\n\r\nabc", Then::Hold).await;
    let sender = sender_at(&insecure(), Names::none(), Stepped::at(NOW));
    let trying = spawn(sender, receiver.url("/"));
    soon(receiver.has_written(1), "it answers").await;
    trying.abort();
    soon(receiver.is_hung_up(), "the connection is closed").await;
}

/// A clock that goes back at each reading.
struct Backward(AtomicI64);

impl Clock for Backward {
    fn now(&self) -> i64 {
        self.0.fetch_sub(1_000, Ordering::Relaxed)
    }

    fn sleep_until(&self, _at: i64) -> Sleep {
        Box::pin(std::future::pending())
    }
}

#[tokio::test]
async fn time_that_steps_back_makes_no_negative_duration() {
    let receiver = Receiver::well("127.0.0.2:0").await;
    let sender = sender_at(&insecure(), Names::none(), Arc::new(Backward(AtomicI64::new(NOW))));
    let tried = send(&sender, &receiver.url("/")).await;
    assert_eq!((tried.answer, tried.duration_ms), (Answer::Status(200), 0));
}

#[tokio::test]
async fn what_a_try_holds_is_let_go_when_its_lookup_ends_and_not_before() {
    let clock = Stepped::at(NOW);
    let bell = Arc::<tokio::sync::Notify>::default();
    let sender = sender_at(&insecure(), Lingering(Arc::clone(&bell)), clock.clone());
    let place = Arc::new(());
    let held = Message { hold: place.clone(), ..message("http://hook.example/") };
    let trying = tokio::spawn(async move { sender.send(held).await });
    settle().await;
    clock.set(NOW + TIMEOUT_MS);
    let tried = soon(trying, "a try ends").await.unwrap();
    assert_eq!(tried.failure, Some(Failure::Unresolved));
    assert_eq!(Arc::strong_count(&place), 2, "its lookup goes on");
    bell.notify_one();
    settle().await;
    assert_eq!(Arc::strong_count(&place), 1);
}
