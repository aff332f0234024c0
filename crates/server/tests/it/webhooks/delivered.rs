//! Tries that reach a receiver, and the calls that it gets.

use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use hyper::http::{HeaderMap, HeaderName, HeaderValue};
use overnight_base::clock::{Clock, ManualClock, SystemClock};
use overnight_domain::webhooks::Answer;
use overnight_domain::webhooks::signature::{SigningSecret, sign};
use overnight_outgoing::webhooks::{Failure, Message, SystemResolver};

use super::support::{
    BODY, Forbidden, Names, Receiver, allowing, insecure, message, outcome, send, sender, sender_at, soon,
    two_addresses,
};

#[tokio::test]
async fn a_receiver_gets_these_bytes_and_no_others() {
    let receiver = Receiver::well("127.0.0.2:0").await;
    let tried = send(&sender(&insecure(), Names::none()), &receiver.url("/hook%20a?x=1#part")).await;
    assert_eq!((tried.answer, tried.failure, tried.duration_ms), (Answer::Status(200), None, 0));
    let calls = receiver.calls();
    let [call] = &calls[..] else { panic!("{calls:?}") };
    let expected = format!(
        "POST /hook%20a?x=1 HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\nuser-agent: overnight/{}\r\n\
         webhook-id: {}\r\nwebhook-timestamp: 1700000000\r\nwebhook-signature: v1,c2lnbmF0dXJl\r\n\
         content-length: {}\r\n\r\n{}",
        receiver.address,
        env!("CARGO_PKG_VERSION"),
        message("").id,
        BODY.len(),
        String::from_utf8_lossy(BODY),
    );
    assert_eq!(call.request, expected);
}

#[tokio::test]
async fn the_standards_own_library_believes_what_arrives() {
    let receiver = Receiver::well("127.0.0.2:0").await;
    let secret = SigningSecret::from_bytes(&[7; 32]).unwrap();
    let timestamp_s = SystemClock.now() / 1_000;
    let plain = message(&receiver.url("/"));
    let signature = sign(std::slice::from_ref(&secret), &plain.id.to_string(), timestamp_s, BODY);
    let signed = Message { timestamp_s, signature, ..plain };
    soon(sender(&insecure(), Names::none()).send(signed), "a try").await;
    let calls = receiver.calls();
    let (head, body) = calls[0].request.split_once("\r\n\r\n").unwrap();
    let headers: HeaderMap = head
        .lines()
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.parse::<HeaderName>().unwrap(), value.parse::<HeaderValue>().unwrap()))
        .collect();
    let library = standardwebhooks::Webhook::new(&secret.reveal()).unwrap();
    library.verify(body.as_bytes(), &headers).unwrap();
    library.verify(b"{}", &headers).unwrap_err();
}

#[tokio::test]
async fn each_try_has_a_connection_of_its_own() {
    let receiver = Receiver::well("127.0.0.2:0").await;
    let sender = sender(&insecure(), Names::none());
    for _ in 0..3 {
        assert_eq!(send(&sender, &receiver.url("/")).await.answer, Answer::Status(200));
    }
    let mut peers: Vec<SocketAddr> = receiver.calls().iter().map(|call| call.from).collect();
    peers.dedup();
    assert_eq!(peers.len(), 3);
}

#[tokio::test]
async fn a_long_body_arrives_whole() {
    let receiver = Receiver::well("127.0.0.2:0").await;
    let body = "x".repeat(3 << 20);
    let long = Message { body: Bytes::from(body.clone()), ..message(&receiver.url("/")) };
    let tried = soon(sender(&insecure(), Names::none()).send(long), "a long body").await;
    assert_eq!(tried.answer, Answer::Status(200));
    assert!(receiver.calls()[0].request.ends_with(&format!("content-length: {}\r\n\r\n{body}", body.len())));
}

#[tokio::test]
async fn the_next_address_is_called_where_nobody_is_at_the_first() {
    let (nobody, somebody) = two_addresses();
    let receiver = Receiver::well(&somebody.to_string()).await;
    let names = Names::one("hook.example", &["127.0.0.1", "127.0.0.2"]);
    let url = format!("http://hook.example:{}/", nobody.port());
    let tried = send(&sender(&insecure(), names), &url).await;
    assert_eq!(tried.answer, Answer::Status(200));
    assert!(receiver.calls()[0].request.contains(&format!("\r\nhost: hook.example:{}\r\n", nobody.port())));
    drop(receiver);
}

#[tokio::test]
async fn where_nobody_is_at_any_address_it_is_unreachable() {
    let (one, _) = two_addresses();
    let names = Names::one("hook.example", &["127.0.0.1", "127.0.0.2"]);
    let tried = send(&sender(&insecure(), names), &format!("http://hook.example:{}/", one.port())).await;
    assert_eq!(outcome(&tried), Err(Failure::Unreachable));
}

#[tokio::test]
async fn the_resolver_of_this_machine_is_judged_like_any_other() {
    let forbidden = Forbidden::everywhere();
    let url = format!("https://localhost:{}/", forbidden.port());
    let tried = send(&sender(&allowing("10.0.0.0/8"), SystemResolver::new()), &url).await;
    assert_eq!(tried.failure, Some(Failure::Refused));
    forbidden.assert_untouched("localhost");
    // The same with an allowed address.
    let receiver = Receiver::well("127.0.0.1:0").await;
    let sender = sender_at(&insecure(), SystemResolver::new(), Arc::new(SystemClock));
    let tried = send(&sender, &format!("http://localhost:{}/", receiver.address.port())).await;
    assert_eq!(tried.answer, Answer::Status(200));
}

#[tokio::test]
async fn what_cannot_be_put_into_a_header_is_not_sent() {
    let receiver = Receiver::well("127.0.0.2:0").await;
    let split = Message { signature: "v1,x\r\nhost: other".to_owned(), ..message(&receiver.url("/")) };
    let sender = sender_at(&insecure(), Names::none(), ManualClock::at(0));
    assert_eq!(soon(sender.send(split), "a header").await.failure, Some(Failure::Url));
    assert_eq!(receiver.calls().len(), 0);
}
