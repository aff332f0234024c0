//! What a form may cost.

use llguidance::api::ParserLimits;

/// The most states of one grammar's lexer, about 2 KiB each.
pub(super) const LEXER_STATES_MAX: usize = 16_000;

/// The library's limits. They bound a compilation to about a second, a mask to a tenth of a second, and a grammar to some
/// 60 MiB. What people write takes a few milliseconds, some ten microseconds and 1 MiB.
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
