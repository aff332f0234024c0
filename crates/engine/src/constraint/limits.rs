//! What a schema may cost.

use llguidance::api::ParserLimits;
use serde_json::Value;

/// The most bytes of a schema, written without white space.
pub(super) const SCHEMA_BYTES_MAX: usize = 128 * 1024;
/// The most digits of a `multipleOf`: the library builds a state for each remainder.
const MULTIPLE_DIGITS_MAX: usize = 4;
/// The most states of one grammar's lexer, about 2 KiB each.
pub(super) const LEXER_STATES_MAX: usize = 16_000;

/// White space between two elements: one line break with an indentation, or two blanks. Without a bound a model may write
/// white space until its answer is cut.
pub(super) const WHITE_SPACE: &str = r"(\r?\n[ \t]{0,64}|[ \t]{1,2})";

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

/// Says what is too costly in a schema and not bounded by the library.
pub(super) fn review(schema: &Value) -> Result<(), String> {
    match schema {
        Value::Array(items) => items.iter().try_for_each(review),
        Value::Object(fields) => fields.iter().try_for_each(|(name, value)| match value {
            Value::Number(number) if name == "multipleOf" => review_multiple(&number.to_string()),
            _ => review(value),
        }),
        _ => Ok(()),
    }
}

fn review_multiple(number: &str) -> Result<(), String> {
    let digits = number.trim_start_matches(['0', '.']).bytes().filter(u8::is_ascii_digit).count();
    if digits <= MULTIPLE_DIGITS_MAX && !number.contains(['e', 'E']) {
        return Ok(());
    }
    Err(format!("multipleOf {number} has more than {MULTIPLE_DIGITS_MAX} digits"))
}
