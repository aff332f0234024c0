//! Invalid signatures and unacceptable bodies.

use std::io::{Read, Write};

use super::support::{BODY, ID, Listening, OTHER_SECRET, SECRET, headers, now, sign, signed};
use crate::support::program;

/// One more than the limit.
const TOO_MANY_BYTES: usize = (1 << 20) + 1;

#[test]
fn what_is_not_rightly_signed_is_answered_401_and_not_printed() {
    let listening = Listening::start(&[]);
    let now = now();
    let good = sign(SECRET, ID, now, BODY);
    for (headers, why) in [
        (signed(OTHER_SECRET, ID, now, BODY), "no signature fits the body"),
        (headers("evt_2", now, &good), "no signature fits the body"),
        (headers(ID, now - 20, &good), "no signature fits the body"),
        (signed(SECRET, ID, now - 400, BODY), "more than five minutes ago"),
        (signed(SECRET, ID, now + 400, BODY), "more than five minutes from now"),
        (headers(ID, now, ""), "not all there"),
        (headers("", now, &good), "not all there"),
        (String::new(), "not all there"),
        (format!("webhook-id: {ID}\r\n"), "not all there"),
    ] {
        assert_eq!(listening.post(&headers, BODY), 401, "{headers}");
        assert!(listening.note("refused").contains(why), "{headers}");
    }
    assert_eq!(listening.post(&headers(ID, now, &good), &BODY.replace(":2", ":3")), 401);
    listening.signal("TERM");
    assert_eq!(listening.end(), (0, Vec::new()));
}

#[test]
fn what_is_rightly_signed_and_no_event_is_answered_400() {
    let listening = Listening::start(&[]);
    for body in ["", "x", "[]", r#"{"type":"batch.completed","timestamp":1,"data":{"id":"b"}}"#] {
        assert_eq!(listening.tell(ID, body), 400, "{body}");
        listening.note("no event");
    }
    // A kind from a later release is ignored.
    assert_eq!(listening.tell(ID, r#"{"type":"batch.\u001b[31m","timestamp":1,"data":{}}"#), 200);
    assert!(listening.line().contains("  batch.\\u{1b}[31m  "));
}

#[test]
fn another_method_is_answered_405() {
    let listening = Listening::start(&[]);
    for method in ["GET", "PUT", "DELETE"] {
        let (status, text) =
            listening.raw(format!("{method} / HTTP/1.1\r\nhost: h\r\nconnection: close\r\n\r\n").as_bytes());
        assert_eq!(status, 405);
        assert!(text.to_lowercase().contains("\r\nallow: post\r\n"), "{text}");
    }
}

#[test]
fn a_body_that_is_too_large_is_answered_413() {
    let listening = Listening::start(&[]);
    let announced = format!(
        "POST / HTTP/1.1\r\nhost: h\r\nconnection: close\r\ncontent-length: {TOO_MANY_BYTES}\r\n\r\n"
    );
    assert_eq!(listening.raw(announced.as_bytes()).0, 413);

    let head = format!(
        "POST / HTTP/1.1\r\nhost: h\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n{TOO_MANY_BYTES:x}\r\n"
    );
    let mut stream = listening.connect();
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(&vec![b' '; TOO_MANY_BYTES]).unwrap();
    let mut status = [0; 12];
    stream.read_exact(&mut status).unwrap();
    assert_eq!(&status, b"HTTP/1.1 413");

    let just = format!("{BODY}{}", " ".repeat(TOO_MANY_BYTES - 1 - BODY.len()));
    assert_eq!(listening.tell(ID, &just), 200);
}

#[test]
fn a_stranger_who_says_nothing_keeps_nobody_from_being_heard() {
    let listening = Listening::start(&[]);
    let mut strangers: Vec<_> = (0..40).map(|_| listening.connect()).collect();
    for stranger in &mut strangers {
        stranger.write_all(b"POST / HTTP/1.1\r\nhost: h\r\ncontent-length: 5\r\n\r\n").unwrap();
    }
    assert_eq!(listening.tell(ID, BODY), 200);
    listening.signal("TERM");
    assert_eq!(listening.end().0, 0);
}

#[test]
fn without_a_secret_or_with_a_malformed_one_it_does_not_start() {
    let run = |arguments: &[&str], secret: Option<&str>| {
        let mut command = program();
        command.args(["listen", "--listen", "127.0.0.1:0"]).args(arguments);
        if let Some(secret) = secret {
            command.env("OVERNIGHT_WEBHOOK_SECRET", secret);
        }
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8(output.stderr).unwrap()
    };
    for (arguments, secret) in [
        (&[][..], None),
        (&[], Some("")),
        (&["--secret", "whsec_abcdef"], None),
        (&["--secret", "abcdef"], Some(SECRET)),
        (&[], Some("abcdef")),
        (&["--json"], Some("whsec_abcdef")),
    ] {
        let told = run(arguments, secret);
        assert!(told.contains("overnight webhook secret --account ACCOUNT"), "{told}");
        assert!(!told.contains("abcdef"), "{told}");
    }
    for url in ["nowhere", "ftp://h/", "unix:/a"] {
        assert!(run(&["--forward-to", url], Some(SECRET)).contains("--forward-to"));
    }
    let help = program().args(["listen", "--help"]).env("OVERNIGHT_WEBHOOK_SECRET", SECRET).output().unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    assert!(help.contains("OVERNIGHT_WEBHOOK_SECRET") && !help.contains(SECRET), "{help}");
}
