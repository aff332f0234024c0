//! The signature scheme of Standard Webhooks, with a secret that both sides know.
//! <https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md>

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, Mac};
use sha2::Sha256;
use subtle::{Choice, ConstantTimeEq};
use thiserror::Error;

/// The header with the event's identifier.
pub const ID_HEADER: &str = "webhook-id";
/// The header with the time of this try, in Unix seconds.
pub const TIMESTAMP_HEADER: &str = "webhook-timestamp";
/// The header of the signatures.
pub const SIGNATURE_HEADER: &str = "webhook-signature";

/// Maximum difference between the time of a try and the receiver's, in seconds.
pub const TOLERANCE_S: i64 = 300;

const PREFIX: &str = "whsec_";
const VERSION: &str = "v1,";
/// In bytes, by the standard.
const LENGTHS: std::ops::RangeInclusive<usize> = 24..=64;
/// The longest header read, in bytes: room for some fifty signatures.
const HEADER_BYTES_MAX: usize = 4_096;
/// The longest time read, in digits; seconds need no more for 31 thousand years.
const TIME_DIGITS_MAX: usize = 12;

/// A secret to sign with. Only [`SigningSecret::reveal`] shows it.
#[derive(Clone, PartialEq, Eq)]
pub struct SigningSecret(Vec<u8>);

/// Why a webhook is not trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum NotSigned {
    /// A header is missing or malformed.
    #[error(
        "the headers webhook-id, webhook-timestamp and webhook-signature are not all there and well formed"
    )]
    Malformed,
    /// No signature is that of the body under one of the secrets.
    #[error("no signature fits the body")]
    Wrong,
    /// It was signed more than five minutes ago.
    #[error("it was signed more than five minutes ago")]
    TooOld,
    /// It was signed more than five minutes from now.
    #[error("it was signed more than five minutes from now")]
    FromTheFuture,
}

/// The three headers of a webhook, as received.
#[derive(Debug, Clone, Copy)]
pub struct Headers<'a> {
    /// `webhook-id`.
    pub id: &'a str,
    /// `webhook-timestamp`.
    pub timestamp: &'a str,
    /// `webhook-signature`.
    pub signature: &'a str,
}

impl SigningSecret {
    /// The secret with these bytes, which must be random.
    pub fn new(bytes: [u8; 32]) -> Self {
        Self(bytes.to_vec())
    }

    /// The secret with these bytes; `None` unless there are 24 to 64.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        LENGTHS.contains(&bytes.len()).then(|| Self(bytes.to_vec()))
    }

    /// Reads `whsec_…`.
    pub fn parse(text: &str) -> Option<Self> {
        Self::from_bytes(&STANDARD.decode(text.trim().strip_prefix(PREFIX)?).ok()?)
    }

    /// `whsec_…`, for those who may know it.
    pub fn reveal(&self) -> String {
        format!("{PREFIX}{}", STANDARD.encode(&self.0))
    }

    /// The bytes, to be stored.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    fn digest(&self, id: &str, timestamp: &str, body: &[u8]) -> Vec<u8> {
        let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(&self.0) else { return Vec::new() };
        for part in [id.as_bytes(), b".", timestamp.as_bytes(), b".", body] {
            mac.update(part);
        }
        mac.finalize().into_bytes().to_vec()
    }
}

impl fmt::Debug for SigningSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}

/// The value of `webhook-signature`: one signature under each secret, so that either side may change first.
pub fn sign(secrets: &[SigningSecret], id: &str, timestamp_s: i64, body: &[u8]) -> String {
    let timestamp = timestamp_s.to_string();
    let signed =
        |secret: &SigningSecret| format!("{VERSION}{}", STANDARD.encode(secret.digest(id, &timestamp, body)));
    secrets.iter().map(signed).collect::<Vec<_>>().join(" ")
}

/// Whether a webhook that arrived at `now_s`, in Unix seconds, was signed with one of the secrets, at most [`TOLERANCE_S`] before or after.
pub fn verify(
    secrets: &[SigningSecret],
    headers: Headers<'_>,
    body: &[u8],
    now_s: i64,
) -> Result<(), NotSigned> {
    let Headers { id, timestamp, signature } = headers;
    let signed_at = read_time(timestamp).ok_or(NotSigned::Malformed)?;
    if id.is_empty()
        || signature.is_empty()
        || id.len() > HEADER_BYTES_MAX
        || signature.len() > HEADER_BYTES_MAX
    {
        return Err(NotSigned::Malformed);
    }
    let digests: Vec<Vec<u8>> = secrets.iter().map(|secret| secret.digest(id, timestamp, body)).collect();
    // All of them are compared, each in constant time: the duration reveals no expected signature.
    let mut found = Choice::from(0);
    for given in signature.split(' ').filter_map(|item| item.strip_prefix(VERSION)) {
        let Ok(given) = STANDARD.decode(given) else { continue };
        for digest in &digests {
            found |= digest.as_slice().ct_eq(&given);
        }
    }
    if !bool::from(found) {
        return Err(NotSigned::Wrong);
    }
    match now_s.saturating_sub(signed_at) {
        age if age > TOLERANCE_S => Err(NotSigned::TooOld),
        age if age < -TOLERANCE_S => Err(NotSigned::FromTheFuture),
        _ => Ok(()),
    }
}

fn read_time(text: &str) -> Option<i64> {
    let is_number =
        (1..=TIME_DIGITS_MAX).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| is_number)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_614_265_330;
    const ID: &str = "msg_p5jXN8AQM9LWM0D4loKWxJek";
    const BODY: &[u8] = br#"{"test": 2432232314}"#;

    /// The example of the standard's own libraries.
    fn known() -> (SigningSecret, String) {
        let secret = SigningSecret::parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        (secret, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=".to_owned())
    }

    fn check(
        secrets: &[SigningSecret],
        signature: &str,
        timestamp: &str,
        now_s: i64,
    ) -> Result<(), NotSigned> {
        verify(secrets, Headers { id: ID, timestamp, signature }, BODY, now_s)
    }

    #[test]
    fn the_example_of_the_standard_is_signed_alike() {
        let (secret, signature) = known();
        assert_eq!(sign(std::slice::from_ref(&secret), ID, NOW, BODY), signature);
        assert_eq!(check(&[secret], &signature, &NOW.to_string(), NOW), Ok(()));
    }

    #[test]
    fn either_secret_of_a_rotation_is_believed() {
        let (old, old_signature) = known();
        let new = SigningSecret::from_bytes(&[7; 32]).unwrap();
        let both = sign(&[new.clone(), old.clone()], ID, NOW, BODY);
        assert!(both.ends_with(&format!(" {old_signature}")));
        for secrets in [&[new][..], &[old]] {
            assert_eq!(check(secrets, &both, &NOW.to_string(), NOW), Ok(()));
        }
    }

    #[test]
    fn what_is_not_signed_so_is_not_believed() {
        let (secret, good) = known();
        let other = SigningSecret::from_bytes(&[7; 32]).unwrap();
        let now = NOW.to_string();
        for (secret, signature, timestamp, now_s, expected) in [
            (&other, good.as_str(), now.as_str(), NOW, NotSigned::Wrong),
            (&secret, "v1,AAAA", &now, NOW, NotSigned::Wrong),
            (&secret, "v1,%%%", &now, NOW, NotSigned::Wrong),
            (&secret, &good[3..], &now, NOW, NotSigned::Wrong),
            (&secret, &good.replace("v1", "v2"), &now, NOW, NotSigned::Wrong),
            (&secret, &good, "1614265331", NOW, NotSigned::Wrong),
            (&secret, "", &now, NOW, NotSigned::Malformed),
            (&secret, &good, "", NOW, NotSigned::Malformed),
            (&secret, &good, "-5", NOW, NotSigned::Malformed),
            (&secret, &good, "+1614265330", NOW, NotSigned::Malformed),
            (&secret, &good, "1614265330000000", NOW, NotSigned::Malformed),
            (&secret, &"v1,".repeat(2_000), &now, NOW, NotSigned::Malformed),
            (&secret, &good, &now, NOW + TOLERANCE_S + 1, NotSigned::TooOld),
            (&secret, &good, &now, NOW - TOLERANCE_S - 1, NotSigned::FromTheFuture),
        ] {
            assert_eq!(
                check(std::slice::from_ref(secret), signature, timestamp, now_s),
                Err(expected),
                "{signature} {timestamp}"
            );
        }
    }

    #[test]
    fn a_secret_is_read_as_it_is_written_and_never_shown_by_itself() {
        let secret = SigningSecret::from_bytes(&[9; 32]).unwrap();
        assert_eq!(SigningSecret::parse(&secret.reveal()), Some(secret.clone()));
        assert_eq!(format!("{secret:?}"), "[secret]");
        for wrong in ["", "whsec_", "whsec_AAAA", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_%%"] {
            assert_eq!(SigningSecret::parse(wrong), None, "{wrong}");
        }
        assert_eq!(SigningSecret::from_bytes(&[1; 65]), None);
    }

    #[test]
    fn a_secret_is_kept_as_its_bytes() {
        let bytes: Vec<u8> = (0..24).collect();
        let secret = SigningSecret::from_bytes(&bytes).unwrap();
        assert_eq!(secret.bytes(), bytes);
    }

    #[test]
    fn what_is_as_old_or_as_long_as_it_may_be_is_believed() {
        let (secret, good) = known();
        let secrets = std::slice::from_ref(&secret);
        for now_s in [NOW - TOLERANCE_S, NOW + TOLERANCE_S] {
            assert_eq!(check(secrets, &good, &NOW.to_string(), now_s), Ok(()));
        }
        let pad = |text: &str, length: usize| format!("{text}{}", " ".repeat(length - text.len()));
        let checked = |id_bytes, signature_bytes| {
            let id = pad("msg_1", id_bytes);
            let signature = pad(&sign(secrets, &id, NOW, BODY), signature_bytes);
            verify(
                secrets,
                Headers { id: &id, timestamp: &NOW.to_string(), signature: &signature },
                BODY,
                NOW,
            )
        };
        assert_eq!(checked(HEADER_BYTES_MAX, HEADER_BYTES_MAX), Ok(()));
        assert_eq!(checked(HEADER_BYTES_MAX + 1, HEADER_BYTES_MAX), Err(NotSigned::Malformed));
        assert_eq!(checked(HEADER_BYTES_MAX, HEADER_BYTES_MAX + 1), Err(NotSigned::Malformed));
    }
}
