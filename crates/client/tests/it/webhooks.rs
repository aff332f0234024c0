//! Signatures compared with another implementation's.

use overnight_client::webhooks::{
    Error, EventData, EventKind, Headers, ID_HEADER, NotSigned, SIGNATURE_HEADER, SigningSecret,
    TIMESTAMP_HEADER, verify,
};
use overnight_wire::native::events::signature::sign;
use reqwest::header::{HeaderMap, HeaderValue};
use standardwebhooks::Webhook;

const ID: &str = "evt_01jz8m4c2he7vsn9q3r5x1b8kb";
const BODY: &str = concat!(
    r#"{"type":"batch.completed","timestamp":1751500020,"data":{"id":"batch_01jz8m4c2he7vsn9q3r5x1b8ka","#,
    r#""status":"completed","requests_counts":{"total":2,"completed":2,"failed":0,"in_progress":0,"#,
    r#""registered":0,"cancelled":0},"created_at":1751500010,"in_progress_at":1751500012,"#,
    r#""completed_at":1751500020,"cancelled_at":null}}"#
);

fn secret(byte: u8) -> SigningSecret {
    SigningSecret::from_bytes(&[byte; 32]).expect("32 bytes")
}

fn other(secret: &SigningSecret) -> Webhook {
    Webhook::new(&secret.reveal()).expect("a secret")
}

#[allow(clippy::disallowed_methods, reason = "the other implementation looks at the clock by itself")]
fn now() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.expect("after 1970").as_secs().cast_signed()
}

fn headers(timestamp: i64, signature: &str) -> HeaderMap {
    let value = |text: &str| HeaderValue::from_str(text).expect("a header");
    let mut headers = HeaderMap::new();
    headers.insert(ID_HEADER, value(ID));
    headers.insert(TIMESTAMP_HEADER, value(&timestamp.to_string()));
    headers.insert(SIGNATURE_HEADER, value(signature));
    headers
}

/// Our verdict, and whether the other implementation accepts the signature.
fn both(secret: &SigningSecret, signature: &str, signed_at: i64, body: &str) -> (Result<(), Error>, bool) {
    let timestamp = signed_at.to_string();
    let ours = verify(
        std::slice::from_ref(secret),
        Headers { id: ID, timestamp: &timestamp, signature },
        body.as_bytes(),
        now(),
    );
    let theirs = other(secret).verify(body.as_bytes(), &headers(signed_at, signature));
    (ours.map(drop), theirs.is_ok())
}

#[test]
fn either_believes_what_the_other_signs() {
    let (secret, now) = (secret(1), now());
    let theirs = other(&secret).sign(ID, now, BODY.as_bytes()).expect("a signature");
    let ours = sign(std::slice::from_ref(&secret), ID, now, BODY.as_bytes());
    assert_eq!(ours, theirs);
    assert!(matches!(both(&secret, &theirs, now, BODY), (Ok(()), true)));
}

#[test]
fn of_two_signatures_each_secret_finds_its_own() {
    let (old, new, now) = (secret(1), secret(2), now());
    let ours = sign(&[new.clone(), old.clone()], ID, now, BODY.as_bytes());
    let theirs = [&old, &new].map(|one| other(one).sign(ID, now, BODY.as_bytes()).expect("a signature"));
    for signature in [ours, theirs.join(" ")] {
        for secret in [&old, &new] {
            assert!(matches!(both(secret, &signature, now, BODY), (Ok(()), true)), "{signature}");
        }
        assert!(matches!(
            both(&secret(3), &signature, now, BODY),
            (Err(Error::NotSigned(NotSigned::Wrong)), false)
        ));
    }
}

#[test]
fn neither_believes_what_was_changed_or_is_old() {
    let (secret, now) = (secret(1), now());
    let signature = sign(std::slice::from_ref(&secret), ID, now, BODY.as_bytes());
    for body in [&BODY.replace("\"failed\":0", "\"failed\":1"), &format!("{BODY}\n"), ""] {
        assert!(matches!(
            both(&secret, &signature, now, body),
            (Err(Error::NotSigned(NotSigned::Wrong)), false)
        ));
    }
    assert!(matches!(
        both(&secret, &signature, now - 1, BODY),
        (Err(Error::NotSigned(NotSigned::Wrong)), false)
    ));
    let cut = &signature[..signature.len() - 4];
    assert!(matches!(both(&secret, cut, now, BODY), (Err(Error::NotSigned(NotSigned::Wrong)), false)));
    for (signed_at, expected) in [(now - 310, NotSigned::TooOld), (now + 310, NotSigned::FromTheFuture)] {
        let signature = sign(std::slice::from_ref(&secret), ID, signed_at, BODY.as_bytes());
        let (ours, theirs) = both(&secret, &signature, signed_at, BODY);
        assert!(matches!(ours, Err(Error::NotSigned(why)) if why == expected) && !theirs);
    }
}

#[test]
fn what_is_signed_is_read() {
    let (secret, now) = (secret(1), now());
    let read = |body: &str| {
        let signature = sign(std::slice::from_ref(&secret), ID, now, body.as_bytes());
        let timestamp = now.to_string();
        let headers = Headers { id: ID, timestamp: &timestamp, signature: &signature };
        verify(std::slice::from_ref(&secret), headers, body.as_bytes(), now)
    };
    let event = read(BODY).expect("an event");
    assert_eq!((event.kind, event.timestamp), (EventKind::BatchCompleted, 1_751_500_020));
    assert!(matches!(event.data, EventData::Batch(batch) if batch.requests_counts.completed == 2));
    let later = BODY.replace("batch.completed", "batch.expired");
    assert!(matches!(read(&later), Err(Error::Unknown { kind }) if kind == "batch.expired"));
    for body in ["", "5", "{}", r#"{"type":"batch.completed","timestamp":5,"data":{}}"#] {
        assert!(matches!(read(body), Err(Error::Unreadable(_))), "{body}");
    }
}

#[test]
fn the_example_of_the_document_is_signed_as_it_says() {
    let document = include_str!("../../../../docs/webhooks.md");
    let example = document.split("```").find(|part| part.contains("POST /hooks")).expect("an example");
    let (head, body) = example.trim_end().split_once("\n\n").expect("a head and a body");
    let header = |name: &str| {
        let value = head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
        value.expect("a header")
    };
    let headers = Headers {
        id: header(ID_HEADER),
        timestamp: header(TIMESTAMP_HEADER),
        signature: header(SIGNATURE_HEADER),
    };
    let secret = document.split('`').find_map(SigningSecret::parse).expect("a secret");
    let event = verify(&[secret], headers, body.as_bytes(), 1_751_500_021).expect("an event");
    assert_eq!(event.kind, EventKind::BatchCompleted);
}
