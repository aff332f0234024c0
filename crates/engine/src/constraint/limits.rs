//! The cost limits of forms.

use std::time::Duration;

use llguidance::api::ParserLimits;

/// States of one grammar's lexer, about 2 KiB each.
pub(super) const LEXER_STATES_MAX: usize = 16_000;

/// The stack of a compilation, which recurses into schemas, rules and references. Only the used part takes memory.
pub(super) const STACK_BYTES: usize = 128 * 1024 * 1024;

/// Processor time of a compilation, which the library's own limits do not bound. A large form of everyday use takes 20 ms.
pub(super) const COMPILING_SECONDS: u64 = 1;
/// Added to the niceness of a compilation, and once more of a trial: answers have the processors first.
pub(super) const NICENESS: i32 = 5;
/// Memory of a compilation. A large form of everyday use takes 5 MiB.
pub(super) const COMPILING_BYTES: u64 = 128 * 1024 * 1024;
/// The longest time of a single step of an answer; a form of everyday use takes some ten microseconds, on a busy machine a few milliseconds.
pub(super) const STEP_TIME_MAX: Duration = Duration::from_millis(200);
/// The same for the first step while a form is compiled, when answers have the processors.
pub(super) const FIRST_STEP_TIME_MAX: Duration = Duration::from_secs(1);

/// Forms that are kept, and their memory. Typical ones take 1 MiB.
pub(super) const GRAMMARS_MAX: usize = 64;
pub(super) const GRAMMARS_BYTES_MAX: usize = 256 * 1024 * 1024;

/// The library's limits. They bound most compilations, and the memory of most grammars to some 60 MiB.
pub(super) fn parser_limits() -> ParserLimits {
    ParserLimits {
        max_items_in_row: 4_000,
        initial_lexer_fuel: 500_000,
        step_lexer_fuel: 200_000,
        step_max_items: 50_000,
        max_lexer_states: LEXER_STATES_MAX,
        max_grammar_size: 40_000,
        precompute_large_lexemes: true,
        verbose_errors: false,
    }
}
