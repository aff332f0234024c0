//! The page on which an order is paid.

use std::net::Ipv4Addr;
use std::sync::Arc;

use overnight_base::clock::{HurriedClock, SharedClock};
use overnight_config::OutgoingConfig;
use overnight_outgoing::payment::{self, PaymentError};
use overnight_testkit::stripe::{Stripe, Trouble};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::{SECRET_KEY, billing, keys, order, provider_at, start};

#[tokio::test]
async fn a_page_is_opened_once_for_an_order() {
    let (stripe, provider) = start().await;
    let first = provider.open_checkout(&order(1)).await.unwrap();
    assert!(first.session.starts_with("cs_test_") && first.url.ends_with(&first.session), "{first:?}");
    assert_eq!(provider.open_checkout(&order(1)).await.unwrap(), first);
    let other = provider.open_checkout(&order(2)).await.unwrap();
    assert_ne!(other.session, first.session);
    assert_eq!(stripe.session_count(), 2);
}

#[tokio::test]
async fn another_order_under_the_same_id_is_refused() {
    let (_stripe, provider) = start().await;
    provider.open_checkout(&order(1)).await.unwrap();
    let mut other = order(1);
    other.amount += 1;
    let error = provider.open_checkout(&other).await.unwrap_err();
    let PaymentError::Refused { code, message } = &error else { panic!("{error:?}") };
    assert_eq!(code, "idempotency_error");
    assert!(message.contains("same parameters") && !error.is_passing(), "{message}");
}

#[tokio::test]
async fn what_stripe_refuses_is_told_in_its_words() {
    let (stripe, provider) = start().await;
    let mut free = order(1);
    free.amount = 0;
    let error = provider.open_checkout(&free).await.unwrap_err();
    let expected = PaymentError::Refused {
        code: "parameter_invalid".to_owned(),
        message: "Invalid line_items[0][price_data][unit_amount]: 0".to_owned(),
    };
    assert_eq!(error, expected);
    assert_eq!(stripe.session_count(), 0);
}

#[tokio::test]
async fn too_many_calls_pass_and_a_failure_passes_with_another_order() {
    let (stripe, provider) = start().await;
    stripe.trouble(Trouble::TooMany);
    let error = provider.open_checkout(&order(1)).await.unwrap_err();
    assert!(matches!(&error, PaymentError::Away(_)) && error.is_passing(), "{error:?}");
    provider.open_checkout(&order(1)).await.unwrap();
    stripe.trouble(Trouble::Failure);
    let error = provider.open_checkout(&order(2)).await.unwrap_err();
    assert!(matches!(&error, PaymentError::Broken(_)) && error.is_passing(), "{error:?}");
    // Stripe repeats its first answer to an idempotency key.
    assert_eq!(provider.open_checkout(&order(2)).await.unwrap_err(), error);
    provider.open_checkout(&order(3)).await.unwrap();
}

#[tokio::test]
async fn a_wrong_key_is_refused_and_not_repeated() {
    let stripe = Stripe::start("another").await.unwrap();
    let provider = provider_at(&stripe.base_url(), keys);
    let error = provider.open_checkout(&order(1)).await.unwrap_err();
    let PaymentError::Refused { message, .. } = &error else { panic!("{error:?}") };
    assert_eq!(message, "Invalid API Key provided: [key]");
    assert!(!format!("{error} {error:?}").contains(SECRET_KEY));
}

#[tokio::test]
async fn nobody_at_the_address_is_an_absence() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let provider = provider_at(&format!("http://{address}"), keys);
    let error = provider.open_checkout(&order(1)).await.unwrap_err();
    assert!(matches!(&error, PaymentError::Away(_)), "{error:?}");
}

#[tokio::test]
async fn an_answer_that_does_not_come_is_given_up() {
    // A listener that accepts no call.
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let billing = billing("stripe", &format!("http://{}", listener.local_addr().unwrap()));
    let clock: SharedClock = Arc::new(HurriedClock);
    let error = payment::provider_with(&billing, &OutgoingConfig::default(), &clock, keys)
        .open_checkout(&order(1))
        .await
        .unwrap_err();
    let PaymentError::Away(words) = &error else { panic!("{error:?}") };
    assert!(words.contains("no answer within 20 s") || words.contains("no connection within"), "{words}");
}

/// The error of a provider that answers with these bytes.
async fn error_of(answer: Vec<u8>) -> PaymentError {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let provider = provider_at(&format!("http://{}", listener.local_addr().unwrap()), keys);
    let server = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut request = Vec::new();
        // The request ends with the closing brace of the return URL.
        while !request.ends_with(b"%7D") {
            stream.read_buf(&mut request).await.unwrap();
        }
        let _ = stream.write_all(&answer).await;
    });
    let error = provider.open_checkout(&order(1)).await.unwrap_err();
    server.await.unwrap();
    error
}

#[tokio::test]
async fn an_answer_that_is_none_is_not_understood() {
    let with = |body: &str| {
        format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}", body.len())
    };
    for (answer, part) in [
        (with("<html>"), "expected value"),
        (with("{}"), "missing field `id`"),
        (with(r#"{"id":"cs_1","url":null}"#), "a page without a `url`"),
        ("HTTP/1.1 200 OK\r\ncontent-length: 1048577\r\n\r\n".to_owned(), "longer than 1 MiB"),
    ] {
        let error = error_of(answer.into_bytes()).await;
        let PaymentError::NotUnderstood(words) = &error else { panic!("{error:?}") };
        assert!(words.contains(part), "{words} lacks {part}");
    }
    let broken = error_of(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{}".to_vec()).await;
    assert!(matches!(&broken, PaymentError::Away(_)), "{broken:?}");
    let lost = error_of(Vec::new()).await;
    assert!(matches!(&lost, PaymentError::Away(_)), "{lost:?}");
}
