//! Names that resolve to another address at each look-up.

use overnight_outgoing::webhooks::Failure;

use super::support::{Authority, Forbidden, Receiver, Turns, allowing, outcome, send, sender, two_addresses};

const GOOD: Result<u16, Failure> = Ok(200);
const REFUSED: Result<u16, Failure> = Err(Failure::Refused);

/// Checks consecutive tries while a name alternates between 127.0.0.2, which is allowed, and 127.0.0.1, which is not.
async fn check(answers: &[&[&str]], expected: &[Result<u16, Failure>]) {
    let authority = Authority::new();
    let (inner, allowed) = two_addresses();
    let forbidden = Forbidden::at(inner);
    let receiver = Receiver::start_tls(&allowed.to_string(), authority.certify("hook.example")).await;
    let resolver = Turns::new(answers);
    let sender = sender(&allowing("127.0.0.2"), resolver.clone()).trusting(vec![authority.file()]);
    for (number, expected) in (1..).zip(expected) {
        let tried = send(&sender, &format!("https://hook.example:{}/", allowed.port())).await;
        assert_eq!(outcome(&tried), *expected, "{answers:?}, try {number}");
        assert_eq!(resolver.count(), number, "{answers:?}");
    }
    forbidden.assert_untouched(&format!("{answers:?}"));
    assert_eq!(receiver.calls().len(), expected.iter().filter(|end| end.is_ok()).count(), "{answers:?}");
}

#[tokio::test]
async fn a_name_is_resolved_once_a_try_and_what_was_judged_is_called() {
    check(&[&["127.0.0.2"], &["127.0.0.1"]], &[GOOD, REFUSED, GOOD, REFUSED]).await;
    check(&[&["127.0.0.1"], &["127.0.0.2"]], &[REFUSED, GOOD, REFUSED, GOOD]).await;
    check(&[&["127.0.0.2", "127.0.0.1"], &["127.0.0.2"]], &[REFUSED, GOOD]).await;
    check(&[&["127.0.0.1", "127.0.0.2"], &["127.0.0.2"]], &[REFUSED, GOOD]).await;
    check(&[&["::ffff:127.0.0.2"], &["::ffff:127.0.0.1"]], &[GOOD, REFUSED]).await;
    check(&[&["127.0.0.2", "127.0.0.2"], &["127.0.0.2", "::1"]], &[GOOD, REFUSED]).await;
    check(&[&["127.0.0.2"], &[]], &[GOOD, Err(Failure::Unresolved)]).await;
}
