use super::*;

const BODY: &[u8] = br#"{"id":"evt_1"}"#;

const TIME: i64 = 1_700_000_000;

/// Computed by Python's `hmac` of the body at that second, with the secret `whsec_test_secret`.
const GOOD: &str = "248a374f50f943a28b0f6ab50faf9a7e7e29b710fa26df9fb1618b9bf8ea9c9a";

fn secret(text: &str) -> Secret {
    Secret::new(text.to_owned())
}

fn check(header: &str, body: &[u8], age_ms: i64, expected: &Result<(), NoticeRefused>) {
    let now = TIME * 1_000 + age_ms;
    let found = verify(Some(header.as_bytes()), body, &secret("whsec_test_secret"), now);
    assert_eq!(found, *expected, "{header:.200} after {age_ms} ms");
}

#[test]
fn a_header_is_believed_if_any_of_its_signatures_fits() {
    let other = "0".repeat(64);
    for header in [
        format!("t={TIME},v1={GOOD}"),
        format!("t={TIME},v1={other},v1={GOOD}"),
        format!("t={TIME},v1={GOOD},v1={other}"),
        format!("t={TIME},v1={GOOD},v0={other}"),
        format!("v1={GOOD},t={TIME}"),
        format!("t={TIME}, v1={GOOD}"),
        format!("t={TIME},v1={GOOD},v2=,unknown=x=y"),
    ] {
        check(&header, BODY, 0, &Ok(()));
    }
}

#[test]
fn a_signature_that_does_not_fit_is_refused() {
    let uppercase = GOOD.to_uppercase();
    for header in [
        format!("t={TIME},v0={GOOD}"),
        format!("t={TIME},v1="),
        format!("t={TIME},v1={}", &GOOD[..63]),
        format!("t={TIME},v1={}", &GOOD[..32]),
        format!("t={TIME},v1={GOOD}0"),
        format!("t={TIME},v1={uppercase}"),
        format!("t={TIME},V1={GOOD}"),
        format!("t={TIME},v1={}", "é".repeat(32)),
        format!("t={TIME}"),
        format!("t=0{TIME},v1={GOOD}"),
        format!("t={},v1={GOOD}", TIME + 1),
    ] {
        check(&header, BODY, 0, &Err(NoticeRefused::WrongSignature));
    }
    let header = format!("t={TIME},v1={GOOD}");
    for body in [&b""[..], br#"{"id":"evt_2"}"#, br#"{"id": "evt_1"}"#, b"{\"id\":\"evt_1\"}\n", b"\xff"] {
        check(&header, body, 0, &Err(NoticeRefused::WrongSignature));
    }
    for other in ["whsec_other", "test_secret", "whsec_test_secre"] {
        let found = verify(Some(header.as_bytes()), BODY, &secret(other), TIME * 1_000);
        assert_eq!(found, Err(NoticeRefused::WrongSignature), "{other}");
    }
}

#[test]
fn a_header_that_cannot_be_read_is_malformed() {
    for header in [
        String::new(),
        ",".to_owned(),
        "nonsense".to_owned(),
        format!("v1={GOOD}"),
        format!("t=,v1={GOOD}"),
        format!("t=-{TIME},v1={GOOD}"),
        format!("t=+{TIME},v1={GOOD}"),
        format!("t={TIME}.5,v1={GOOD}"),
        format!("t=1{TIME}00,v1={GOOD}"),
        format!("t=soon,v1={GOOD}"),
        format!("t={TIME},t={TIME},v1={GOOD}"),
        format!("t={TIME},v1={GOOD},"),
        format!("t={TIME};v1={GOOD},x"),
        format!("t={TIME},v1={GOOD},v0={}", "0".repeat(HEADER_BYTES_MAX)),
        format!("t={TIME}{}", format!(",v1={GOOD}").repeat(100)),
    ] {
        check(&header, BODY, 0, &Err(NoticeRefused::MalformedSignature));
    }
    let found = verify(None, BODY, &secret("whsec_test_secret"), TIME * 1_000);
    assert_eq!(found, Err(NoticeRefused::NoSignature));
    let found = verify(Some(b"t=\xff,v1=\xff"), BODY, &secret("whsec_test_secret"), TIME * 1_000);
    assert_eq!(found, Err(NoticeRefused::MalformedSignature));
}

#[test]
fn a_signature_holds_for_five_minutes_before_and_after() {
    let header = format!("t={TIME},v1={GOOD}");
    for (age_ms, expected) in [
        (0, Ok(())),
        (TOLERANCE_MS, Ok(())),
        (TOLERANCE_MS + 1, Err(NoticeRefused::TooOld)),
        (86_400_000, Err(NoticeRefused::TooOld)),
        (i64::MAX - TIME * 1_000, Err(NoticeRefused::TooOld)),
        (-TOLERANCE_MS, Ok(())),
        (-TOLERANCE_MS - 1, Err(NoticeRefused::FromTheFuture)),
        (-TIME * 1_000, Err(NoticeRefused::FromTheFuture)),
    ] {
        check(&header, BODY, age_ms, &expected);
    }
}

#[test]
fn the_time_is_looked_at_only_if_the_signature_fits() {
    check(&format!("t={TIME},v1=0"), BODY, TOLERANCE_MS + 1, &Err(NoticeRefused::WrongSignature));
}
