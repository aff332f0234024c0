//! A compiled form, and the position of one answer in it.

use std::{
    fmt, mem,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use llguidance::{Matcher, TokenParser};

use super::{Unkept, limits::LEXER_STATES_MAX, watchdog::Watchdog};
use crate::{clock::Stopwatch, model::Token, sampling::TokenSet};

/// Words of the library's messages about its limits.
const LIMIT_WORDS: [&str; 8] = [
    "too complex",
    "too large",
    "too big",
    "too many",
    "Too many",
    "; max is ",
    "exhausted",
    "precomputation failed",
];

/// Its answers share the states of its lexer, which grow with their texts.
pub struct Grammar {
    field: &'static str,
    fresh: TokenParser,
    used: Mutex<TokenParser>,
    watchdog: Watchdog,
    /// Memory without the lexer's states, and of these after the last answer.
    bytes: usize,
    lexer_bytes: AtomicUsize,
}

impl Grammar {
    /// A watchdog serves the grammars of one computing thread.
    pub(super) fn new(field: &'static str, parser: TokenParser, watchdog: Watchdog, bytes: usize) -> Self {
        let used = Mutex::new(parser.deep_clone());
        Self { field, fresh: parser, used, watchdog, bytes, lexer_bytes: AtomicUsize::new(0) }
    }

    #[must_use]
    pub fn start(self: &Arc<Self>) -> Guide {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        // The remaining states must suffice for this answer and the current ones.
        if used.parser.lexer_stats().num_states > LEXER_STATES_MAX / 2 {
            *used = self.fresh.deep_clone();
        }
        let matcher = Matcher::new(Ok(used.clone())).into_cancellable();
        Guide { grammar: Arc::clone(self), matcher, time: Duration::ZERO }
    }

    /// An estimate of its memory, from any thread.
    pub(super) fn bytes(&self) -> usize {
        self.bytes + self.lexer_bytes.load(Ordering::Relaxed)
    }
}

impl fmt::Debug for Grammar {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Grammar").field("field", &self.field).finish_non_exhaustive()
    }
}

/// Follows one answer through its grammar.
pub struct Guide {
    grammar: Arc<Grammar>,
    matcher: Matcher,
    time: Duration,
}

impl Guide {
    /// Reads an allowed token, unless it is at the beginning, and finds the tokens that may come next, at least one; `None` if the answer is
    /// complete and nothing may follow. If the answer may end, an end of turn is among them. Fails if the form is too complex here.
    pub fn advance(&mut self, token: Option<Token>) -> Result<Option<TokenSet>, Unkept> {
        let mask = self.step(|matcher| {
            if let Some(token) = token {
                matcher.consume_token(token)?;
                if matcher.is_stopped() {
                    return Ok(None);
                }
            }
            matcher.compute_mask_or_eos().map(Some)
        })?;
        Ok(mask.map(|mask| TokenSet::from_words(mask.as_slice().to_vec())))
    }

    /// The time that its form took since the last call.
    pub fn take_time(&mut self) -> Duration {
        mem::take(&mut self.time)
    }

    /// The refusal of an answer whose form took `time` in all.
    #[must_use]
    pub fn refuse(&self, time: Duration) -> Unkept {
        let limit =
            format!("finding the tokens that it allows took {:.1} s of the answer", time.as_secs_f64());
        Unkept::too_complex(self.grammar.field, &limit)
    }

    fn step<T, E: fmt::Display>(
        &mut self,
        step: impl FnOnce(&mut Matcher) -> Result<T, E>,
    ) -> Result<T, Unkept> {
        let stopwatch = Stopwatch::start();
        let handle = self.matcher.cancellation_handle();
        let result = self.grammar.watchdog.watch(handle, || step(&mut self.matcher));
        self.time += stopwatch.elapsed();
        if self.matcher.is_cancelled() {
            return Err(Unkept::too_complex(self.grammar.field, &self.grammar.watchdog.limit()));
        }
        // Each token was allowed, so only limits of the library are left.
        result.map_err(|fault| Unkept { is_complex: true, ..unkept(self.grammar.field, &fault.to_string()) })
    }
}

impl Drop for Guide {
    fn drop(&mut self) {
        let used = self.grammar.used.lock().unwrap_or_else(PoisonError::into_inner);
        self.grammar.lexer_bytes.store(used.parser.lexer_stats().num_bytes, Ordering::Relaxed);
    }
}

impl fmt::Debug for Guide {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Guide").field("field", &self.grammar.field).finish_non_exhaustive()
    }
}

/// A refusal with the first line of the library's message. That of an expression says its reason in a later line.
pub(super) fn unkept(field: &'static str, fault: &str) -> Unkept {
    let reasons = fault.lines().filter_map(|line| line.trim().strip_prefix("error: "));
    let words: Vec<&str> = fault.lines().take(1).chain(reasons.take(1)).collect();
    let words = words.join(" ");
    Unkept {
        field,
        is_complex: is_limit(&words),
        reason: format!("The form cannot be kept to here: {words}."),
    }
}

/// Whether a message of the library is about a limit.
pub(super) fn is_limit(fault: &str) -> bool {
    LIMIT_WORDS.iter().any(|words| fault.contains(words))
}
