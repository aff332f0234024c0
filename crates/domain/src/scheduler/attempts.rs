//! What an attempt's error means.

use super::messages::{AttemptError, FailureCode};
use crate::records::FailedAttempt;

/// What follows from a failed attempt.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Fault of the request or of the replica: the replica's own probe decides.
    Doubted(Failure),
    Unreached {
        /// For the operator: may contain addresses.
        detail: String,
    },
    /// The request is sent once more, without the output limit that is not its own.
    Repeat,
    /// The engine has no room for the request: uncounted, and the request waits by itself.
    Busy {
        /// Named by the engine.
        retry_after_ms: Option<i64>,
        refusal: Failure,
    },
    Final {
        code: FailureCode,
        /// Of an answer other than 2xx.
        status: Option<u16>,
        /// For the client.
        message: String,
    },
}

/// A failed attempt whose fault is not known yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Failure {
    pub(super) trouble: Trouble,
    /// Of an answer other than 2xx.
    pub(super) status: Option<u16>,
    /// The engine's message, or the message about a request that is too slow; else a description that only the operator may see, because it
    /// may contain addresses.
    pub(super) detail: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trouble {
    /// The connection broke: the engine may have died because of the request.
    Broke,
    Silent,
    /// No answer in time, again.
    Slow,
    /// A status that does not blame the request.
    Answered,
    /// The engine aborted the generation.
    Aborted,
    /// A status that may be the operator's or the provider's matter, and may pass.
    Denied,
    /// Such a status that does not pass, or a model that the engine does not list.
    Refused,
    /// The engine found the request invalid.
    Rejected,
    /// The same, with a message that another attempt may not get.
    Unlucky,
    /// The answer was not of the requested kind.
    Nonsense,
}

/// Attempts that may each have computed a full answer.
const PAID_MAX: u32 = 8;

/// Beginnings of messages with status 400 that depend on chance: a race in the tokenizer (vllm-project/vllm#30264), a runner that
/// went away (ollama/ollama#16082), an answer that is not the JSON or the tool call asked for (groq/groq-typescript#28).
const UNLUCKY: [&str; 4] =
    ["Already borrowed", "unexpected EOF", "Failed to generate JSON", "Failed to call a function"];

/// The beginning of OpenAI's message with status 429 to a request that is larger than a whole limit (continuedev/continue#10602).
const TOO_LARGE: &str = "Request too large for ";

impl Failure {
    /// The request's error if this was its last attempt.
    pub(super) const fn code(&self) -> FailureCode {
        match self.trouble {
            Trouble::Nonsense => FailureCode::EngineInvalidResponse,
            Trouble::Denied | Trouble::Refused | Trouble::Rejected | Trouble::Unlucky => {
                FailureCode::EngineRejected
            }
            Trouble::Broke | Trouble::Silent | Trouble::Slow | Trouble::Answered | Trouble::Aborted => {
                FailureCode::EngineUnavailable
            }
        }
    }

    /// Counted attempts after which the request fails, however much of its completion window is left.
    pub(super) const fn attempts_max(&self) -> u32 {
        match self.trouble {
            Trouble::Nonsense | Trouble::Unlucky => PAID_MAX,
            _ => u32::MAX,
        }
    }

    /// Whether only the completion of a request that was sent later shows that the engine still works: a refusal of all requests starts
    /// while others are in flight.
    pub(super) const fn is_refusal(&self) -> bool {
        matches!(self.trouble, Trouble::Denied | Trouble::Refused | Trouble::Rejected | Trouble::Unlucky)
    }

    /// Whether both are the same refusal, apart from numbers and identifiers in the message.
    pub(super) fn is_same_refusal(&self, code: u16, message: &str) -> bool {
        matches!(self.trouble, Trouble::Rejected | Trouble::Unlucky)
            && self.status == Some(code)
            && words_of(&self.detail).eq(words_of(message))
    }

    /// For the client: contains no address.
    pub(super) fn describe(&self) -> String {
        match (self.status, self.trouble) {
            (Some(status), _) => format!("the engine answered with status {status}: {}", self.detail),
            (None, Trouble::Silent | Trouble::Slow) => FailedAttempt::TIMED_OUT.into(),
            (None, Trouble::Aborted | Trouble::Nonsense) => self.detail.clone(),
            (None, _) => "the connection to the engine broke".into(),
        }
    }

    pub(super) fn attempt(&self, at: i64) -> FailedAttempt {
        let message = match self.status {
            Some(_) => self.detail.clone(),
            None => self.describe(),
        };
        FailedAttempt::new(at, self.status, message)
    }

    /// Whether the request may have killed or hung the replica.
    pub(super) fn may_be_guilty(&self) -> bool {
        self.may_be_a_death() || self.trouble == Trouble::Silent
    }

    /// Whether the replica may have died with everything that ran there. A gateway reports that as a 502.
    pub(super) fn may_be_a_death(&self) -> bool {
        self.trouble == Trouble::Broke || self.status == Some(502)
    }
}

/// Words of a message without digits, up to a bound.
fn words_of(message: &str) -> impl Iterator<Item = &str> {
    let words = message.split_whitespace().take(64);
    words.filter(|word| !word.bytes().any(|byte| byte.is_ascii_digit()))
}

/// Judges an error by its kind only. A redirect is not from an engine, and no client causes one.
pub(super) fn judge(error: AttemptError) -> Verdict {
    let doubted = |trouble, status, detail| Verdict::Doubted(Failure { trouble, status, detail });
    let invalid = |message| {
        let code = FailureCode::EngineInvalidResponse;
        Verdict::Final { code, status: None, message }
    };
    match error {
        AttemptError::LimitRefused => Verdict::Repeat,
        AttemptError::Connect(detail) => Verdict::Unreached { detail },
        AttemptError::Reset(detail) => doubted(Trouble::Broke, None, detail),
        AttemptError::TimedOut(detail) => doubted(Trouble::Silent, None, detail),
        AttemptError::TooSlow(message) => doubted(Trouble::Slow, None, message),
        AttemptError::NotACompletion(detail) | AttemptError::NoUsage(detail) => {
            doubted(Trouble::Nonsense, None, detail)
        }
        AttemptError::Aborted(message) => doubted(Trouble::Aborted, None, message),
        AttemptError::TooLong(message) | AttemptError::BadUsage(message) => invalid(message),
        AttemptError::NotServed(status, message) => {
            Verdict::Final { code: FailureCode::EngineRejected, status, message }
        }
        AttemptError::UnlistedModel { code, message } => doubted(Trouble::Refused, Some(code), message),
        AttemptError::Status { code, message, retry_after_ms } => match code {
            400 if UNLUCKY.iter().any(|words| message.starts_with(words)) => {
                doubted(Trouble::Unlucky, Some(code), message)
            }
            429 if message.starts_with(TOO_LARGE) => doubted(Trouble::Rejected, Some(code), message),
            400 | 413 | 422 => doubted(Trouble::Rejected, Some(code), message),
            429 | 503 => {
                let refusal = Failure { trouble: Trouble::Answered, status: Some(code), detail: message };
                Verdict::Busy { retry_after_ms, refusal }
            }
            401..=404 | 407 | 409 | 423 | 424 | 449 | 498 | 499 => {
                doubted(Trouble::Denied, Some(code), message)
            }
            405..=499 | 501 if code != 408 && code != 425 => doubted(Trouble::Refused, Some(code), message),
            _ => doubted(Trouble::Answered, Some(code), message),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(code: u16) -> String {
        let error = AttemptError::Status { code, message: "words".into(), retry_after_ms: None };
        match judge(error) {
            Verdict::Doubted(failure) => format!("{:?}: {}", failure.trouble, failure.describe()),
            Verdict::Busy { .. } => "Busy".into(),
            Verdict::Final { code, status, message } => format!("{code:?} {status:?}: {message}"),
            Verdict::Unreached { .. } | Verdict::Repeat => panic!("a status is an answer"),
        }
    }

    #[test]
    fn a_status_is_judged_by_whose_fault_it_can_be() {
        let codes: [(&str, &[u16]); 4] = [
            ("Rejected", &[400, 413, 422]),
            ("Denied", &[401, 402, 403, 404, 407, 409, 423, 424, 449, 498, 499]),
            ("Refused", &[405, 410, 418, 451, 501]),
            ("Answered", &[301, 308, 408, 425, 500, 502, 504, 507, 529, 599]),
        ];
        for (trouble, codes) in codes {
            for code in codes {
                assert_eq!(check(*code), format!("{trouble}: the engine answered with status {code}: words"));
            }
        }
        for code in [429, 503] {
            assert_eq!(check(code), "Busy");
        }
    }

    #[test]
    fn some_messages_say_more_than_their_status() {
        for (code, message, expected) in [
            (400, "Already borrowed", Some(Trouble::Unlucky)),
            (400, "It says: Already borrowed", Some(Trouble::Rejected)),
            (422, "Already borrowed", Some(Trouble::Rejected)),
            (429, "Request too large for gpt-4o on tokens per min", Some(Trouble::Rejected)),
            (503, "Request too large for gpt-4o on tokens per min", None),
        ] {
            let error = AttemptError::Status { code, message: message.into(), retry_after_ms: None };
            let trouble = match judge(error) {
                Verdict::Doubted(failure) => Some(failure.trouble),
                _ => None,
            };
            assert_eq!(trouble, expected, "{code} {message}");
        }
    }

    #[test]
    fn a_refusal_is_the_same_whatever_numbers_and_identifiers_it_names() {
        let refused = |message: &str| {
            let error = AttemptError::Status { code: 400, message: message.into(), retry_after_ms: None };
            let Verdict::Doubted(failure) = judge(error) else { panic!("it is doubted") };
            failure
        };
        let failure = refused("usage limit of 20 reached (request req_7a1)");
        for (code, message, expected) in [
            (400, "usage limit of 20 reached (request req_9b2)", true),
            (400, "usage  limit of 30 reached (request x1)", true),
            (422, "usage limit of 20 reached (request req_7a1)", false),
            (400, "unknown field", false),
        ] {
            assert_eq!(failure.is_same_refusal(code, message), expected, "{code} {message}");
        }
    }

    #[test]
    fn a_refusal_by_an_engine_that_may_lack_the_model_is_no_fault_of_the_request_yet() {
        let error = AttemptError::UnlistedModel { code: 400, message: "words".into() };
        let Verdict::Doubted(failure) = judge(error) else { panic!("it is doubted") };
        assert_eq!(failure.trouble, Trouble::Refused);
        assert_eq!(failure.describe(), "the engine answered with status 400: words");
    }

    #[test]
    fn an_answer_that_cannot_be_taken_in_is_final() {
        for error in [AttemptError::BadUsage("words".into()), AttemptError::TooLong("words".into())] {
            let code = FailureCode::EngineInvalidResponse;
            assert_eq!(judge(error), Verdict::Final { code, status: None, message: "words".into() });
        }
    }

    #[test]
    fn an_engine_without_the_endpoint_rejects_at_once() {
        let judged = judge(AttemptError::NotServed(Some(404), "words".into()));
        let code = FailureCode::EngineRejected;
        assert_eq!(judged, Verdict::Final { code, status: Some(404), message: "words".into() });
    }

    #[test]
    fn the_owner_of_a_request_reads_the_engines_words_and_no_address() {
        let failure = |error| match judge(error) {
            Verdict::Doubted(failure) => failure,
            other => panic!("{other:?}"),
        };
        let broke = failure(AttemptError::Reset("10.0.0.7:8000: broken pipe".into()));
        assert_eq!(
            broke.attempt(7),
            FailedAttempt::new(7, None, "the connection to the engine broke".into())
        );
        let words = format!("{}é", "x".repeat(FailedAttempt::MESSAGE_BYTES_MAX - 1));
        let status = AttemptError::Status { code: 500, message: words, retry_after_ms: None };
        let attempt = failure(status).attempt(7);
        assert_eq!(
            (attempt.status, attempt.message.len()),
            (Some(500), FailedAttempt::MESSAGE_BYTES_MAX - 1)
        );
        let nonsense = failure(AttemptError::NotACompletion("html".into()));
        assert_eq!(nonsense.code(), FailureCode::EngineInvalidResponse);
        assert_eq!(broke.code(), FailureCode::EngineUnavailable);
    }
}
