//! What an attempt's error means.

use super::messages::{AttemptError, FailureCode};

/// What follows from an attempt that brought no result.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It is tried again; the replica's breaker hears of it.
    Again {
        /// How the replica failed.
        trouble: Trouble,
        /// For the operator: may name addresses.
        detail: String,
    },
    /// The replica has no room now: uncounted, and the replica is left alone for a little.
    Busy {
        /// What the engine asked for, in milliseconds.
        retry_after_ms: Option<i64>,
    },
    /// The replica's own probe decides whose fault it is.
    Doubted {
        /// The HTTP status.
        code: u16,
        /// The engine's words.
        message: String,
    },
    /// The request fails at once.
    Final {
        /// Why.
        code: FailureCode,
        /// In words, for the client.
        message: String,
    },
}

/// How a replica failed an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trouble {
    /// It never saw the request: no attempt.
    Unreached,
    /// The connection broke: it may have died, and the request may be why.
    Broke,
    /// No answer in time.
    Silent,
    /// It answered with this status.
    Answered(u16),
    /// Its answer was no chat completion.
    Nonsense,
}

impl Trouble {
    /// The error of a request whose last attempt ended so.
    pub(super) const fn code(self) -> FailureCode {
        match self {
            Self::Nonsense => FailureCode::EngineInvalidResponse,
            _ => FailureCode::EngineUnavailable,
        }
    }

    /// In words for the client; names no address.
    pub(super) fn describe(self) -> String {
        match self {
            Self::Unreached => "the engine could not be reached".into(),
            Self::Broke => "the connection to the engine broke".into(),
            Self::Silent => "the engine did not answer in time".into(),
            Self::Answered(code) => format!("the engine answered with status {code}"),
            Self::Nonsense => "the engine's answer was no chat completion".into(),
        }
    }
}

/// Judges an attempt's error by its kind alone. A 502 is a gateway's word for a broken connection, a 504 for silence;
/// a redirect is answered by no engine and caused by no client.
pub(super) fn judge(error: AttemptError) -> Verdict {
    let again = |trouble, detail| Verdict::Again { trouble, detail };
    match error {
        AttemptError::Connect(detail) => again(Trouble::Unreached, detail),
        AttemptError::Reset(detail) => again(Trouble::Broke, detail),
        AttemptError::TimedOut(detail) => again(Trouble::Silent, detail),
        AttemptError::NotACompletion(detail) => again(Trouble::Nonsense, detail),
        AttemptError::BadUsage(message) => {
            Verdict::Final { code: FailureCode::EngineInvalidResponse, message }
        }
        AttemptError::Status { code, message, retry_after_ms } => match code {
            400 | 413 | 422 => Verdict::Final { code: FailureCode::EngineRejected, message },
            429 | 503 => Verdict::Busy { retry_after_ms },
            502 => again(Trouble::Broke, message),
            504 => again(Trouble::Silent, message),
            401..=499 if code != 408 && code != 425 => Verdict::Doubted { code, message },
            _ => again(Trouble::Answered(code), message),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(code: u16) -> String {
        let error = AttemptError::Status { code, message: "words".into(), retry_after_ms: None };
        match judge(error) {
            Verdict::Again { trouble, .. } => format!("{trouble:?}"),
            Verdict::Busy { .. } => "Busy".into(),
            Verdict::Doubted { .. } => "Doubted".into(),
            Verdict::Final { code, message } => format!("{code:?}: {message}"),
        }
    }

    #[test]
    fn a_status_is_judged_by_whose_fault_it_can_be() {
        for (expected, codes) in [
            ("EngineRejected: words", &[400, 413, 422][..]),
            ("Busy", &[429, 503]),
            ("Doubted", &[401, 403, 404, 402, 405, 409, 410, 418, 451]),
            ("Broke", &[502]),
            ("Silent", &[504]),
        ] {
            for code in codes {
                assert_eq!(check(*code), expected, "{code}");
            }
        }
        for code in [301, 308, 408, 425, 500, 501, 507, 529, 599] {
            assert_eq!(check(code), format!("Answered({code})"));
        }
    }

    #[test]
    fn only_an_answer_that_is_no_completion_ends_as_invalid() {
        assert_eq!(Trouble::Nonsense.code(), FailureCode::EngineInvalidResponse);
        assert_eq!(Trouble::Broke.code(), FailureCode::EngineUnavailable);
        let verdict = judge(AttemptError::BadUsage("usage is missing".into()));
        let code = FailureCode::EngineInvalidResponse;
        assert_eq!(verdict, Verdict::Final { code, message: "usage is missing".into() });
    }
}
