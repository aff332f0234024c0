//! Signatures of events in Stripe's form.

use hmac::{Hmac, Mac};
use sha2::Sha256;

/// The `Stripe-Signature` header of an event's body, signed with a secret (`whsec_…`) at a Unix time in seconds. As in Stripe's test mode,
/// it also has a signature of the scheme `v0`, which matches nothing.
pub fn sign(body: &[u8], secret: &str, at_seconds: i64) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).expect("a key of any length");
    mac.update(format!("{at_seconds}.").as_bytes());
    mac.update(body);
    let signature = mac.finalize().into_bytes();
    format!("t={at_seconds},v1={signature:x},v0={}", "6".repeat(64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_what_another_implementation_makes_of_it() {
        let header = sign(br#"{"id":"evt_1"}"#, "whsec_test_secret", 1_700_000_000);
        let (time, rest) = header.split_once(',').unwrap();
        assert_eq!(time, "t=1700000000");
        // Python's `hmac` computes the same.
        let known = "v1=248a374f50f943a28b0f6ab50faf9a7e7e29b710fa26df9fb1618b9bf8ea9c9a,";
        assert!(rest.starts_with(known), "{rest}");
    }
}
