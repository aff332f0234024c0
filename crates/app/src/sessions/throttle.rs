//! Throttles guessing: some failures in a row are free, then each doubles the wait. Failures are counted for the e-mail address, for the
//! network, and for both together. Known browsers and signed-in users have their own counts, which others cannot use up.

use std::net::IpAddr;

use overnight_store::identity::sign_in_failures::{self, Counting, Failures, Forgiveness, Try};
use sha2::{Digest, Sha256};

use super::SignInError;
use super::people;
use crate::errors::AppError;
use crate::{ClientNetwork, ReadsFor, Services};

/// Free failures in a row of one guesser at one user.
const FREE: i64 = 5;

const FIRST_WAIT_MS: i64 = 1_000;
const LONGEST_WAIT_MS: i64 = 900_000;

/// Failures in a row are forgotten after this time without a try.
const FORGOTTEN_MS: i64 = 2 * LONGEST_WAIT_MS;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Subject {
    digest: [u8; 32],
    /// Free failures in a row.
    free: i64,
    longest_wait_ms: i64,
    forgives: Forgives,
}

/// The failures of a subject that a success forgives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Forgives {
    All,
    /// Only its own try; earlier failures keep counting.
    OwnTry,
}

/// The subjects of a try. An IPv6 address counts as its network, which one customer has. Many people may share a network, and guesses
/// elsewhere must not lock a user out: only guesses at one user from one network soon lead to long waits.
pub(super) fn subjects(email: &str, address: Option<IpAddr>) -> Vec<Subject> {
    let email = people::normalized(email);
    let network = address.map(|address| ClientNetwork::of(address).bytes());
    let from = network.as_deref().unwrap_or_default();
    let mut subjects = vec![
        subject("both", [email.as_bytes(), from], FREE, LONGEST_WAIT_MS, Forgives::All),
        subject("email", [email.as_bytes(), b""], 20, 30_000, Forgives::All),
    ];
    // A guesser with a password of their own must not reset the network's count by it.
    let network =
        network.is_some().then(|| subject("network", [from, b""], 40, LONGEST_WAIT_MS, Forgives::OwnTry));
    subjects.extend(network);
    subjects
}

/// The subject of a known browser, by the number of its mark.
pub(super) fn known_browser(number: &[u8; 32]) -> Subject {
    subject("browser", [number, b""], FREE, LONGEST_WAIT_MS, Forgives::All)
}

/// The subject of a session, by the hash of its token.
pub(super) fn session(sha256: &[u8; 32]) -> Subject {
    subject("session", [sha256, b""], FREE, LONGEST_WAIT_MS, Forgives::All)
}

fn subject(kind: &str, parts: [&[u8]; 2], free: i64, longest_wait_ms: i64, forgives: Forgives) -> Subject {
    let digest = parts.iter().fold(Sha256::new().chain_update(kind), |digest, part| {
        digest.chain_update(part.len().to_le_bytes()).chain_update(part)
    });
    Subject { digest: digest.finalize().into(), free, longest_wait_ms, forgives }
}

/// Counts a try, or refuses it. Returns the failures that a success forgives.
pub(super) async fn count(
    services: &Services,
    subjects: &[Subject],
) -> Result<Vec<Forgiveness>, SignInError> {
    let now = services.clock.now();
    let digests: Vec<[u8; 32]> = subjects.iter().map(|subject| subject.digest).collect();
    // Refused tries cause no write.
    let known = sign_in_failures::find(&services.store, &digests).await?;
    let counting = if let Some(wait_ms) = longest_wait(subjects, &known, now) {
        Counting::MustWait(wait_ms)
    } else {
        let subjects = subjects.to_vec();
        let must_wait = move |known: &[Failures]| longest_wait(&subjects, known, now);
        let _turn = services.passwords.turn().await;
        let count = sign_in_failures::count(&services.store, &digests, now, now - FORGOTTEN_MS, must_wait);
        ReadsFor::Service.scope(count).await?
    };
    let retry_after_ms = match counting {
        Counting::Counted(before) => {
            let forgiven = subjects.iter().zip(before);
            return Ok(forgiven.map(|(subject, before)| subject.forgiveness(now, before)).collect());
        }
        Counting::MustWait(wait_ms) => wait_ms,
    };
    metrics::counter!("overnight_sign_ins_throttled_total").increment(1);
    Err(SignInError::TooMany { retry_after_ms })
}

/// The longest wait at `now` given the `known` failures, in milliseconds; `None` if there is none.
fn longest_wait(subjects: &[Subject], known: &[Failures], now: i64) -> Option<i64> {
    // A clock that was set back does not lengthen waits.
    let left = |(subject, failures): (&Subject, &Failures)| {
        let wait_ms = subject.wait_ms(failures.count);
        failures.last_at.saturating_add(wait_ms).saturating_sub(now).min(wait_ms)
    };
    subjects.iter().zip(known).map(left).max().filter(|wait| *wait > 0)
}

/// The password was right, but no session follows.
pub(super) async fn forgive(services: &Services, forgiven: &[Forgiveness]) -> Result<(), AppError> {
    let _turn = services.passwords.turn().await;
    Ok(sign_in_failures::forgive(&services.store, forgiven).await?)
}

impl Subject {
    /// The failures that a success of a try at `at` forgives, given the counts `before`.
    fn forgiveness(&self, at: i64, before: Failures) -> Forgiveness {
        let only = match self.forgives {
            Forgives::All => None,
            Forgives::OwnTry => Some(Try { at, before }),
        };
        Forgiveness { subject: self.digest, only }
    }

    /// The wait after this many failures in a row, in milliseconds.
    fn wait_ms(&self, failures: i64) -> i64 {
        match failures - self.free {
            ..0 => 0,
            doublings => FIRST_WAIT_MS.saturating_mul(1 << doublings.min(20)).min(self.longest_wait_ms),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(email: &str, address: &str) -> Vec<Subject> {
        subjects(email, address.parse().ok())
    }

    #[test]
    fn guessing_takes_twice_as_long_each_time() {
        let both = &of("a@b.c", "10.0.0.1")[0];
        let waits: Vec<i64> = (0..18).map(|failures| both.wait_ms(failures) / 1_000).collect();
        assert_eq!(waits, [0, 0, 0, 0, 0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900, 900]);
        assert_eq!(both.wait_ms(i64::MAX), LONGEST_WAIT_MS);
    }

    #[test]
    fn who_guesses_elsewhere_locks_nobody_out_for_long() {
        let [_, email, network] = &of("a@b.c", "10.0.0.1")[..] else { panic!("three subjects") };
        assert_eq!((email.wait_ms(19), email.wait_ms(i64::MAX)), (0, 30_000));
        assert_eq!((network.wait_ms(39), network.wait_ms(i64::MAX)), (0, LONGEST_WAIT_MS));
    }

    #[test]
    fn a_network_of_ipv6_counts_as_one_and_spellings_of_an_address_too() {
        assert_eq!(of("a@b.c", "2001:db8::1"), of(" A@B.c ", "2001:db8::2"));
        assert_ne!(of("a@b.c", "2001:db8::1")[2], of("a@b.c", "2001:db8:0:1::1")[2]);
        assert_eq!(of("a@b.c", "10.0.0.1"), of("a@b.c", "::ffff:10.0.0.1"));
        assert_ne!(of("a@b.c", "10.0.0.1")[0], of("a@b.c", "10.0.0.2")[0]);
        assert_eq!(of("a@b.c", "10.0.0.1")[1], of("a@b.c", "10.0.0.2")[1]);
        assert_eq!(subjects("a@b.c", None).len(), 2);
    }
}
