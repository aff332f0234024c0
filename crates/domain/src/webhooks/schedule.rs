//! When an event is tried again, and when it is given up.

/// Maximum time of a receiver's answer, connecting included, in milliseconds.
pub const TIMEOUT_MS: i64 = 15_000;

/// The result of a try.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// An answer with this HTTP status.
    Status(u16),
    /// No answer: the address was refused, not reachable, or too slow.
    None,
}

/// What follows a try.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// The event was accepted: no more tries.
    Delivered,
    /// Another try.
    Retry {
        /// Milliseconds after the last try.
        after_ms: i64,
    },
    /// It is given up.
    Exhausted,
}

/// What follows a try after `failures` failed ones before it. Any 2xx is success, and a 410 stops the tries. `delays_ms` are the delays
/// between failed tries; after the last one the event is given up. `chance` is any number, which changes the delay by up to a tenth, so
/// that events that failed together are not tried again together.
///
/// `asked_ms` is the pause that the receiver asked for. With a 429 or 503 it is obeyed, up to the delay after the next try, which the
/// schedule would reach anyway; a longer one is cut.
pub fn after(delays_ms: &[i64], failures: usize, answer: Answer, asked_ms: Option<i64>, chance: u64) -> Next {
    match (answer, delays_ms.get(failures)) {
        (Answer::Status(200..=299), _) => Next::Delivered,
        (Answer::Status(410), _) | (_, None) => Next::Exhausted,
        (_, Some(delay_ms)) => {
            let after_ms = delay_ms - delay_ms / 10 + jitter(delay_ms / 5, chance);
            let asked_ms = asked_ms.filter(|_| matches!(answer, Answer::Status(429 | 503))).unwrap_or(0);
            let most_ms = *delays_ms.get(failures + 1).unwrap_or(delay_ms);
            // Not before, so the tenth is added.
            let obeyed_ms = asked_ms.min(most_ms);
            Next::Retry { after_ms: after_ms.max(obeyed_ms + jitter(obeyed_ms / 10, chance)) }
        }
    }
}

/// Between 0 and `span`, both included.
fn jitter(span: i64, chance: u64) -> i64 {
    i64::try_from(chance % (span.unsigned_abs() + 1)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DELAYS_MS: [i64; 3] = [5_000, 60_000, 50_400_000];

    #[test]
    fn a_success_ends_it_and_gone_gives_it_up() {
        for failures in 0..20 {
            for status in [200, 204, 299] {
                assert_eq!(after(&DELAYS_MS, failures, Answer::Status(status), None, 7), Next::Delivered);
            }
            assert_eq!(after(&DELAYS_MS, failures, Answer::Status(410), None, 7), Next::Exhausted);
        }
    }

    #[test]
    fn failures_are_tried_again_about_when_it_is_said_and_then_given_up() {
        for (failures, delay_ms) in DELAYS_MS.into_iter().enumerate() {
            let (mut least, mut most) = (i64::MAX, 0);
            for chance in 0..20_000u64 {
                let answer = [Answer::None, Answer::Status(500), Answer::Status(302), Answer::Status(404)]
                    [(chance % 4) as usize];
                let chance = chance.wrapping_mul(0x9e37_79b9_7f4a_7c15);
                let Next::Retry { after_ms } = after(&DELAYS_MS, failures, answer, None, chance) else {
                    panic!("it was not tried again after {failures} failures");
                };
                (least, most) = (least.min(after_ms), most.max(after_ms));
            }
            let (low, high, near) = (delay_ms / 10 * 9, delay_ms / 10 * 11, delay_ms / 200);
            assert!(least >= low && most <= high, "{failures}: {least} to {most}");
            assert!(least < low + near && most > high - near, "{failures}: {least} to {most}");
        }
        assert_eq!(after(&DELAYS_MS, DELAYS_MS.len(), Answer::None, None, 0), Next::Exhausted);
        assert_eq!(after(&DELAYS_MS, usize::MAX, Answer::Status(500), None, 0), Next::Exhausted);
        assert_eq!(after(&[], 0, Answer::None, None, 7), Next::Exhausted);
        assert_eq!(after(&[0], 0, Answer::None, None, 7), Next::Retry { after_ms: 0 });
    }

    #[test]
    fn a_receiver_that_is_overloaded_is_left_alone_as_long_as_it_asks_up_to_the_next_step() {
        let wait = |failures, status, asked_ms, chance| match after(
            &DELAYS_MS,
            failures,
            Answer::Status(status),
            Some(asked_ms),
            chance,
        ) {
            Next::Retry { after_ms } => after_ms,
            other => panic!("{other:?}"),
        };
        for chance in [0, 3, u64::MAX / 7, u64::MAX] {
            for status in [429, 503] {
                assert!((30_000..=33_000).contains(&wait(0, status, 30_000, chance)));
                assert!((60_000..=66_000).contains(&wait(0, status, 3_600_000, chance)), "the next step");
                assert!(
                    (4_500..=5_500).contains(&wait(0, status, 1_000, chance)),
                    "no sooner than it is due"
                );
                assert!((50_400_000..=55_440_000).contains(&wait(2, status, i64::MAX, chance)), "the last");
            }
            assert!(
                (4_500..=5_500).contains(&wait(0, 500, 30_000, chance)),
                "another failure asks for nothing"
            );
        }
        assert_eq!(after(&DELAYS_MS, 3, Answer::Status(429), Some(1_000), 0), Next::Exhausted);
        assert_eq!(after(&DELAYS_MS, 0, Answer::Status(410), Some(1_000), 0), Next::Exhausted);
    }
}
