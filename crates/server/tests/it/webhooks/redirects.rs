//! Redirects and similar answers.

use overnight_base::clock::ManualClock;

use super::support::{Forbidden, Names, Receiver, Then, insecure, outcome, send, sender_at};

const STATUSES: [u16; 8] = [300, 301, 302, 303, 304, 305, 307, 308];

pub(super) fn cases(port: u16) -> Vec<(u16, String)> {
    let locations = [
        format!("location: http://127.0.0.1:{port}/"),
        format!("location: https://127.0.0.1:{port}/"),
        format!("Location: //127.0.0.1:{port}/"),
        format!("LOCATION:http://localhost:{port}/"),
        format!("location: http://[::1]:{port}/"),
        format!("location: http://2130706433:{port}/\r\nlocation: http://0x7f.1:{port}/"),
        "location: /elsewhere".to_owned(),
        format!("refresh: 0; url=http://127.0.0.1:{port}/\r\ncontent-location: http://127.0.0.1:{port}/"),
    ];
    let of_status = |status| locations.iter().map(move |location| (status, location.clone()));
    let mut cases: Vec<_> = STATUSES.into_iter().flat_map(of_status).collect();
    // These are not redirects, but have a location too.
    cases.extend([(200, locations[0].clone()), (201, locations[0].clone()), (401, locations[7].clone())]);
    cases.push((200, format!("alt-svc: http/1.1=\"127.0.0.1:{port}\"; ma=1")));
    cases
}

#[tokio::test]
async fn a_redirect_is_an_answer_like_any_other_and_not_followed() {
    let forbidden = Forbidden::everywhere();
    for (status, header) in cases(forbidden.port()) {
        let answer = format!("HTTP/1.1 {status} Go\r\n{header}\r\ncontent-length: 0\r\n\r\n");
        let receiver = Receiver::start("127.0.0.2:0", answer, Then::Close).await;
        // The target is allowed, so only the rule against redirects stops the sender.
        let names = Names::one("localhost", &["127.0.0.1"]);
        let sender = sender_at(&insecure(), names, ManualClock::at(0));
        let tried = send(&sender, &receiver.url("/hook")).await;
        assert_eq!(outcome(&tried), Ok(status), "{header}");
        assert_eq!(receiver.calls().len(), 1, "{header}");
        forbidden.assert_untouched(&header);
    }
}
