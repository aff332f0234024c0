//! Guessing takes longer each time: five tries are free, then each costs twice the wait of the one before, up to a quarter of an
//! hour; counted for the e-mail address and for where the tries come from.

use std::net::IpAddr;

use sha2::{Digest, Sha256};

use super::SignInError;
use crate::app::{Services, users};
use crate::store::sign_in_failures::{self, Failures};

const FREE: i64 = 5;
const FIRST_WAIT_MS: i64 = 1_000;
const LONGEST_WAIT_MS: i64 = 900_000;

/// Failures in a row are forgotten when for so long nothing was tried.
const FORGOTTEN_MS: i64 = 2 * LONGEST_WAIT_MS;

/// What is counted. An address of IPv6 counts with its whole network, which one customer has.
pub(super) fn subjects(email: &str, address: Option<IpAddr>) -> Vec<[u8; 32]> {
    let digest = |kind: &str, what: &[u8]| -> [u8; 32] {
        Sha256::new().chain_update(kind).chain_update([0]).chain_update(what).finalize().into()
    };
    let from = address.map(|address| match address.to_canonical() {
        IpAddr::V4(address) => digest("address", &address.octets()),
        IpAddr::V6(address) => digest("address", &address.octets()[..8]),
    });
    let email = digest("email", users::normalized(email).as_bytes());
    std::iter::once(email).chain(from).collect()
}

/// Counts a try, or refuses it.
pub(super) async fn count(services: &Services, subjects: &[[u8; 32]]) -> Result<(), SignInError> {
    let now = services.clock.now();
    let wait = std::sync::atomic::AtomicI64::new(0);
    let may_try = |failures: Failures| {
        let left = failures.last_at.saturating_add(wait_ms(failures.count)).saturating_sub(now);
        wait.store(left, std::sync::atomic::Ordering::Relaxed);
        left <= 0
    };
    if sign_in_failures::count(&services.store, subjects, now, now - FORGOTTEN_MS, may_try).await? {
        return Ok(());
    }
    metrics::counter!("overnight_sign_ins_throttled_total").increment(1);
    Err(SignInError::TooMany { retry_after_ms: wait.into_inner() })
}

/// The sign-in succeeded.
pub(super) async fn forget(services: &Services, subjects: &[[u8; 32]]) -> Result<(), SignInError> {
    Ok(sign_in_failures::forget(&services.store, subjects).await?)
}

/// How long to wait behind so many failures in a row, in milliseconds.
fn wait_ms(failures: i64) -> i64 {
    match failures - FREE {
        ..0 => 0,
        doublings => FIRST_WAIT_MS.saturating_mul(1 << doublings.min(20)).min(LONGEST_WAIT_MS),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guessing_takes_twice_as_long_each_time() {
        let waits: Vec<i64> = (0..18).map(wait_ms).map(|wait| wait / 1_000).collect();
        assert_eq!(waits, [0, 0, 0, 0, 0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900, 900]);
        assert_eq!(wait_ms(i64::MAX), LONGEST_WAIT_MS);
    }

    #[test]
    fn a_network_of_ipv6_counts_as_one_and_spellings_of_an_address_too() {
        let of = |email, address: &str| subjects(email, address.parse().ok());
        assert_eq!(of("a@b.c", "2001:db8::1"), of(" A@B.c ", "2001:db8::2"));
        assert_ne!(of("a@b.c", "2001:db8::1")[1], of("a@b.c", "2001:db8:0:1::1")[1]);
        assert_eq!(of("a@b.c", "10.0.0.1"), of("a@b.c", "::ffff:10.0.0.1"));
        assert_ne!(of("a@b.c", "10.0.0.1")[1], of("a@b.c", "10.0.0.2")[1]);
        assert_eq!(subjects("a@b.c", None).len(), 1);
    }
}
