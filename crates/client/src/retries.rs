//! Which failures are retried, and when.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use crate::Error;

const FIRST_PAUSE: Duration = Duration::from_millis(250);
const PAUSE_MAX: Duration = Duration::from_secs(8);
/// If the service asks for a longer pause, the call fails.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(60);

/// The effect of a repeated call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Repeatable {
    /// None: the call changes nothing, or carries an idempotency key.
    Always,
    /// It may take effect twice, so it is repeated only if the first call was certainly not accepted.
    IfRefused,
}

/// The pause before try number `tries` + 1; `None` if another try is unsafe or useless.
pub(crate) fn pause_after(error: &Error, repeatable: Repeatable, tries: u32) -> Option<Duration> {
    let always = repeatable == Repeatable::Always;
    let asked = match error {
        // This API answers 429 and 503 only if nothing was accepted.
        Error::Api { status: 429 | 503, retry_after, .. } => *retry_after,
        Error::Api { status: 502 | 504, .. } | Error::Foreign { status: 429 | 502 | 503 | 504, .. }
            if always =>
        {
            None
        }
        Error::Transport(cause) if cause.is_connect() || (always && !cause.is_builder()) => None,
        Error::Cut(_) if always => None,
        _ => return None,
    };
    let pause = asked.unwrap_or_default().max(back_off(tries));
    (pause <= RETRY_AFTER_MAX).then_some(pause)
}

/// Doubles with each try, minus a random part of up to half, so that clients that failed together do not return together.
fn back_off(tries: u32) -> Duration {
    let whole = FIRST_PAUSE.saturating_mul(1 << tries.min(16)).min(PAUSE_MAX);
    let chance = RandomState::new().hash_one(tries) % 1000;
    whole / 2 + whole * u32::try_from(chance).unwrap_or(0) / 2000
}

#[cfg(test)]
mod tests {
    use overnight_wire::native::errors::ErrorBody;

    use super::Repeatable::{Always, IfRefused};
    use super::*;

    fn api(status: u16, retry_after_s: Option<u64>) -> Error {
        let error = ErrorBody {
            message: String::new(),
            kind: String::new(),
            code: String::new(),
            param: None,
            details: Vec::new(),
            details_total: None,
            request_id: String::new(),
        };
        Error::Api { status, error: Box::new(error), retry_after: retry_after_s.map(Duration::from_secs) }
    }

    #[test]
    fn a_busy_service_is_tried_again_whatever_was_asked() {
        for (status, repeatable) in [(429, Always), (503, Always), (429, IfRefused), (503, IfRefused)] {
            assert!(pause_after(&api(status, None), repeatable, 0).is_some());
        }
    }

    #[test]
    fn a_create_is_not_repeated_on_a_word_that_is_not_the_services() {
        let foreign = |status| Error::Foreign { status, text: String::new() };
        for error in [foreign(503), foreign(502), api(502, None), Error::Cut(String::new())] {
            assert!(pause_after(&error, Always, 0).is_some());
            assert_eq!(pause_after(&error, IfRefused, 0), None);
        }
    }

    #[test]
    fn a_refusal_is_not_repeated() {
        for status in [401, 402, 404, 409, 422, 500] {
            assert_eq!(pause_after(&api(status, Some(1)), Always, 0), None);
        }
    }

    #[test]
    fn the_service_is_given_the_time_it_asks_for_within_reason() {
        assert_eq!(pause_after(&api(503, Some(30)), Always, 0), Some(Duration::from_secs(30)));
        assert_eq!(pause_after(&api(503, Some(3600)), Always, 0), None);
    }

    #[test]
    fn pauses_grow_to_a_bound() {
        for (tries, at_most_ms) in [(0, 250), (1, 500), (4, 4000), (9, 8000), (u32::MAX, 8000)] {
            let pause = back_off(tries).as_millis();
            assert!(pause >= at_most_ms / 2 && pause <= at_most_ms, "{tries}: {pause}");
        }
    }
}
