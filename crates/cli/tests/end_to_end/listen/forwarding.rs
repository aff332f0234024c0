//! Events forwarded to the user's own server.

use serde_json::{Value, json};

use super::support::{BODY, ID, Listening, SECRET, Target, headers, now, sign};

#[test]
fn the_same_bytes_and_headers_are_sent_on_and_the_status_comes_back() {
    let target = Target::start(&[
        "500 Broken\r\ncontent-length: 0",
        "204 Done",
        "302 Found\r\nlocation: http://127.0.0.1:9/\r\ncontent-length: 0",
        "410 Gone\r\ncontent-length: 4\r\n\r\nbyes",
    ]);
    let listening = Listening::start(&["--json", "--forward-to", &target.url]);
    let body = BODY.replace(",\"data\"", " ,\r\n\"data\"");
    let signed_at = now() - 7;
    let signature = format!("v1,AAAA {}", sign(SECRET, ID, signed_at, &body));
    for (place, status) in [500, 204, 302, 410].into_iter().enumerate() {
        assert_eq!(listening.post(&headers(ID, signed_at, &signature), &body), status);
        let told: Value = serde_json::from_str(&listening.line()).unwrap();
        assert_eq!((&told["forwarded"], &told["answered"]), (&json!(status), &json!(status)));
        assert_eq!(told["again"], place > 0, "what comes again is sent on again");

        let asked = target.asked();
        let (head, sent) = asked.split_once("\r\n\r\n").unwrap();
        assert_eq!(sent, body);
        assert!(head.starts_with("POST /hooks?a=b HTTP/1.1\r\n"), "{head}");
        for expected in headers(ID, signed_at, &signature).lines().chain(["content-type: application/json"]) {
            assert!(head.lines().any(|line| line == expected), "{expected}: {head}");
        }
    }
}

#[test]
fn what_is_not_believed_is_not_sent_on() {
    let target = Target::start(&["204 Done"]);
    let listening = Listening::start(&["--forward-to", &target.url]);
    assert_eq!(listening.post(&headers(ID, now(), "v1,AAAA"), BODY), 401);
    assert_eq!(listening.tell(ID, "{}"), 400);
    assert_eq!(listening.tell(ID, BODY), 204);
    assert!(target.asked().ends_with(BODY));
    assert!(listening.line().ends_with("1 failed  answered 204"));
}

#[test]
fn where_nobody_is_the_service_is_answered_502() {
    let listening = Listening::start(&["--forward-to", "http://user:word@127.0.0.1:9/hooks"]);
    assert_eq!(listening.tell(ID, BODY), 502);
    assert!(listening.line().ends_with("  not answered, passed back as 502"));
    let note = listening.note("did not answer");
    assert!(note.starts_with("http://127.0.0.1:") && !note.contains("word"), "{note}");
    assert_eq!(listening.tell(ID, BODY), 502);
    assert!(listening.line().contains("  again  "));
}
