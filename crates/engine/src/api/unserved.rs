//! Fields of other engines that change the answer and are not served here: they are refused, never ignored in silence.

use std::fmt;

use serde::Deserializer as _;
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde_json::{Value, json};

use super::Refusal;

/// Each field, and the value besides null that asks for nothing; null where there is none.
fn fields() -> [(&'static str, Value); 33] {
    [
        ("add_generation_prompt", json!(true)),
        ("allowed_token_ids", json!([])),
        ("audio", Value::Null),
        ("bad_words", json!([])),
        ("best_of", json!(1)),
        ("continue_final_message", json!(false)),
        ("dry_multiplier", json!(0)),
        ("echo", json!(false)),
        ("function_call", json!("none")),
        ("functions", json!([])),
        ("grammar", json!("")),
        ("guided_choice", json!([])),
        ("guided_grammar", json!("")),
        ("guided_regex", json!("")),
        ("include_stop_str_in_output", json!(false)),
        ("length_penalty", json!(1)),
        ("logits_processors", json!([])),
        ("min_tokens", json!(0)),
        ("mirostat", json!(0)),
        ("prediction", Value::Null),
        ("prompt_logprobs", json!(0)),
        ("repeat_penalty", json!(1)),
        ("return_tokens_as_token_ids", json!(false)),
        ("skip_special_tokens", json!(true)),
        ("spaces_between_special_tokens", json!(true)),
        ("stop_token_ids", json!([])),
        ("tfs_z", json!(1)),
        ("top_n_sigma", json!(-1)),
        ("truncate_prompt_tokens", json!(0)),
        ("typical_p", json!(1)),
        ("use_beam_search", json!(false)),
        ("web_search_options", Value::Null),
        ("xtc_probability", json!(0)),
    ]
}

/// Looks for such a field in a body that is an object.
///
/// # Errors
/// A refusal that names the first one.
pub(super) fn check(body: &[u8]) -> Result<(), Refusal> {
    let found = serde_json::Deserializer::from_slice(body).deserialize_map(Finder).unwrap_or_default();
    match found {
        Some(name) => Err(Refusal::of(
            name,
            format!("{name} is not served here; leave it out, or take an engine that serves it."),
        )),
        None => Ok(()),
    }
}

/// Whether the model is shown the tools.
///
/// # Errors
/// A choice that the engine cannot hold the model to.
pub(super) fn check_tool_choice(choice: Option<&Value>) -> Result<bool, Refusal> {
    match choice {
        None | Some(Value::Null) => Ok(true),
        Some(choice) => match choice.as_str() {
            Some("auto") => Ok(true),
            Some("none") => Ok(false),
            _ => Err(Refusal::of("tool_choice", "The tool choices auto and none are served here.")),
        },
    }
}

struct Finder;

impl<'de> Visitor<'de> for Finder {
    type Value = Option<&'static str>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self::Value, A::Error> {
        let fields = fields();
        let mut found = None;
        while let Some(name) = members.next_key::<String>()? {
            match fields.iter().find(|(field, _)| *field == name) {
                Some((field, neutral)) => {
                    let value: Value = members.next_value()?;
                    let asks = !value.is_null() && !is_same(&value, neutral);
                    found = found.or(asks.then_some(*field));
                }
                None => drop(members.next_value::<IgnoredAny>()?),
            }
        }
        Ok(found)
    }
}

/// Numbers are the same by their value: 1 is 1.0.
fn is_same(value: &Value, neutral: &Value) -> bool {
    match (value.as_f64(), neutral.as_f64()) {
        (Some(one), Some(other)) => one.total_cmp(&other).is_eq(),
        _ => value == neutral,
    }
}
