//! The `Stripe-Signature` header: `t=SECONDS,v1=HEX`, with a `v1` for each secret during a rotation, and other schemes that are ignored.
//! <https://docs.stripe.com/webhooks/signature>

use hmac::{Hmac, Mac};
use overnight_base::secrets::Secret;
use sha2::Sha256;
use subtle::{Choice, ConstantTimeEq};

use crate::payment::NoticeRefused;

/// How far the signature's time may differ from ours, either way.
const TOLERANCE_MS: i64 = 300_000;

/// Room for some fifty signatures.
const HEADER_BYTES_MAX: usize = 4096;

/// Seconds with so many digits suffice for 31 thousand years.
const TIME_DIGITS_MAX: usize = 12;

struct Header<'a> {
    /// The time as it is written, which is part of the signed text.
    time: &'a [u8],
    at_ms: i64,
    signatures: Vec<&'a [u8]>,
}

/// Whether the body was signed with the secret, shortly before or after `now` (in milliseconds).
pub(super) fn verify(
    header: Option<&[u8]>,
    body: &[u8],
    secret: &Secret,
    now: i64,
) -> Result<(), NoticeRefused> {
    let header = parse(header.ok_or(NoticeRefused::NoSignature)?).ok_or(NoticeRefused::MalformedSignature)?;
    let expected = sign(header.time, body, secret).ok_or(NoticeRefused::WrongSignature)?;
    // All of them are compared, each in constant time: the duration reveals nothing of the expected one.
    let matches = |found: Choice, signature: &&[u8]| found | expected.as_bytes().ct_eq(signature);
    if !bool::from(header.signatures.iter().fold(Choice::from(0), matches)) {
        return Err(NoticeRefused::WrongSignature);
    }
    match now.saturating_sub(header.at_ms) {
        age_ms if age_ms > TOLERANCE_MS => Err(NoticeRefused::TooOld),
        age_ms if age_ms < -TOLERANCE_MS => Err(NoticeRefused::FromTheFuture),
        _ => Ok(()),
    }
}

fn parse(header: &[u8]) -> Option<Header<'_>> {
    if header.len() > HEADER_BYTES_MAX {
        return None;
    }
    let (mut time, mut signatures) = (None, Vec::new());
    for item in header.split(|byte| *byte == b',') {
        let item = item.trim_ascii();
        let (name, value) = item.split_at(item.iter().position(|byte| *byte == b'=')?);
        let value = &value[1..];
        match name {
            b"t" if time.is_some() => return None,
            b"t" => time = Some(value),
            b"v1" => signatures.push(value),
            _ => {}
        }
    }
    let time = time?;
    let is_number = (1..=TIME_DIGITS_MAX).contains(&time.len()) && time.iter().all(u8::is_ascii_digit);
    let seconds: i64 = std::str::from_utf8(time).ok().filter(|_| is_number)?.parse().ok()?;
    Some(Header { time, at_ms: seconds * 1_000, signatures })
}

/// The signature of the body at a time, in lower-case hexadecimal digits.
fn sign(time: &[u8], body: &[u8], secret: &Secret) -> Option<String> {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.bytes()).ok()?;
    mac.update(time);
    mac.update(b".");
    mac.update(body);
    Some(format!("{:x}", mac.finalize().into_bytes()))
}

#[cfg(test)]
mod tests;
