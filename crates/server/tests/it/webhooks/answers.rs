//! Oversized, incomplete and missing answers.

use overnight_domain::webhooks::Answer;
use overnight_outgoing::webhooks::Failure;

use super::support::{Names, Receiver, Then, insecure, outcome, send, sender};

/// Checks the outcome of an answer. The clock is stopped, so only the answer ends the try.
async fn check(answer: impl Into<Vec<u8>>, then: Then, expected: Result<u16, Failure>) {
    let answer = answer.into();
    let start = String::from_utf8_lossy(&answer[..answer.len().min(200)]).into_owned();
    let receiver = Receiver::start("127.0.0.2:0", answer, then).await;
    let tried = send(&sender(&insecure(), Names::none()), &receiver.url("/")).await;
    assert_eq!(outcome(&tried), expected, "{start:?}, then {then:?}");
    super::support::soon(receiver.is_hung_up(), "the connection is closed").await;
}

#[tokio::test]
async fn a_status_counts_as_it_is() {
    for status in [200, 201, 202, 204, 299, 400, 404, 410, 429, 500, 503, 599, 600, 999] {
        let answer = format!("HTTP/1.1 {status} Whatever\r\ncontent-length: 0\r\n\r\n");
        check(answer, Then::Hold, Ok(status)).await;
    }
    check("HTTP/1.0 200 OK\r\n\r\nbody", Then::Close, Ok(200)).await;
    check("HTTP/1.1 200\r\n\r\n", Then::Close, Ok(200)).await;
}

#[tokio::test]
async fn how_long_a_receiver_asks_to_be_left_alone_is_read() {
    for (header, expected) in [
        ("retry-after: 30", Some(30_000)),
        ("retry-after: Fri, 31 Dec 9999 23:59:59 GMT", Some(86_400_000)),
        ("retry-after: soon", None),
        ("x: y", None),
    ] {
        let answer = format!("HTTP/1.1 429 Slowly\r\n{header}\r\ncontent-length: 0\r\n\r\n");
        let receiver = Receiver::start("127.0.0.2:0", answer.into_bytes(), Then::Hold).await;
        let tried = send(&sender(&insecure(), Names::none()), &receiver.url("/")).await;
        assert_eq!((tried.answer, tried.retry_after_ms), (Answer::Status(429), expected), "{header}");
    }
}

#[tokio::test]
async fn what_is_said_before_an_answer_is_none() {
    let early = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n";
    check(format!("{early}HTTP/1.1 204 No Content\r\n\r\n"), Then::Hold, Ok(204)).await;
    check(early, Then::Close, Err(Failure::Broken)).await;
    // The receiver asks to switch the protocol, which is not a 2xx.
    check("HTTP/1.1 101 Switching\r\nupgrade: x\r\nconnection: upgrade\r\n\r\nx", Then::Close, Ok(101)).await;
}

#[tokio::test]
async fn a_body_without_end_is_not_read_to_its_end() {
    let repeat = Then::Repeat(&[b'x'; 16 << 10]);
    check("HTTP/1.1 200 OK\r\n\r\n", repeat, Ok(200)).await;
    check("HTTP/1.1 200 OK\r\ncontent-length: 1099511627776\r\n\r\n", repeat, Ok(200)).await;
    let chunk = Then::Repeat(b"a\r\n0123456789\r\n");
    check("HTTP/1.1 500 No\r\ntransfer-encoding: chunked\r\n\r\n", chunk, Ok(500)).await;
}

#[tokio::test]
async fn a_body_that_breaks_does_not_undo_a_status() {
    check("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nabc", Then::Close, Ok(200)).await;
    check("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n", Then::Hold, Ok(200)).await;
    check("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nffffffffffffffffff\r\n", Then::Hold, Ok(200))
        .await;
    check("HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 3\r\n\r\nabc", Then::Hold, Ok(200))
        .await;
}

#[tokio::test]
async fn a_head_has_bounds() {
    let long = |bytes| format!("HTTP/1.1 200 OK\r\ncontent-length: 0\r\nx: {}\r\n\r\n", "x".repeat(bytes));
    check(long(32 << 10), Then::Hold, Ok(200)).await;
    check(long(100 << 10), Then::Hold, Err(Failure::Broken)).await;
    let many = format!("HTTP/1.1 200 OK\r\n{}\r\n", "x: y\r\n".repeat(500));
    check(many, Then::Hold, Err(Failure::Broken)).await;
    check("HTTP/1.1 200 OK\r\nx: ", Then::Repeat(&[b'x'; 16 << 10]), Err(Failure::Broken)).await;
    check("HTTP/1.1 200 ", Then::Repeat(&[b'x'; 16 << 10]), Err(Failure::Broken)).await;
}

#[tokio::test]
async fn what_is_no_http_is_no_answer() {
    for garbage in [
        "",
        "\0",
        "HTTP/1.1 ",
        "HTTP/1.1 20",
        "HTTP/1.1 200 OK\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: 2",
        "220 mail.example ESMTP\r\n",
        "SSH-2.0-OpenSSH_9.9\r\n",
        "-ERR unknown command\r\n",
        "HTTP/2 200 OK\r\n\r\n",
        "HTTP/3.0 200 OK\r\n\r\n",
        "http/1.1 200 OK\r\n\r\n",
        "HTTP/1.1 2x0 OK\r\n\r\n",
        "HTTP/1.1 -200 OK\r\n\r\n",
        "HTTP/1.1 20000 OK\r\n\r\n",
        "HTTP/1.1 099 OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab",
        "HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n",
        "HTTP/1.1 200 OK\r\nbad header\r\n\r\n",
        "<html><body>200 OK</body></html>\r\n\r\n",
    ] {
        check(garbage, Then::Close, Err(Failure::Broken)).await;
    }
    check(vec![0x16, 0x03, 0x01, 0x00, 0xff, 0x80], Then::Close, Err(Failure::Broken)).await;
    check(vec![0, 0, 18, 4, 0, 0, 0, 0, 0], Then::Close, Err(Failure::Broken)).await;
}
