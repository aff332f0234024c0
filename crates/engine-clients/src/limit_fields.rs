//! The name under which an engine accepts a model's output limit, learnt from its refusals.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

use overnight_domain::chat::LimitField;

/// Phrases that refuse a field, in lower case.
const REFUSALS: [&str; 12] = [
    "unsupported",
    "not supported",
    "not support",
    "unrecognized",
    "unrecognised",
    "not recognized",
    "unknown",
    "unexpected",
    "not permitted",
    "not allowed",
    "forbidden",
    "instead",
];

/// Phrases that refuse a value, in lower case.
const OF_VALUES: [&str; 8] =
    ["at most", "the most", "maximum", "exceed", "less than", "greater than", "too large", "too high"];

const LIMITS: [&str; 4] = ["max_tokens", "max_completion_tokens", "max_output_tokens", "max_new_tokens"];

/// The accepted name for each model in the settings, by our name of the model; 0 if unknown.
pub(super) struct LimitFields(BTreeMap<String, AtomicU8>);

impl LimitFields {
    pub(super) fn new<'a>(models: impl Iterator<Item = &'a String>) -> Self {
        Self(models.map(|model| (model.clone(), AtomicU8::new(0))).collect())
    }

    /// The accepted name for a model; `None` until the engine has refused the other.
    pub(super) fn get(&self, model: &str) -> Option<LimitField> {
        match self.0.get(model)?.load(Relaxed) {
            1 => Some(LimitField::MaxTokens),
            2 => Some(LimitField::MaxCompletionTokens),
            _ => None,
        }
    }

    /// `None` forgets the name.
    pub(super) fn set(&self, model: &str, field: Option<LimitField>) {
        let code = match field {
            None => 0,
            Some(LimitField::MaxTokens) => 1,
            Some(LimitField::MaxCompletionTokens) => 2,
        };
        if let Some(known) = self.0.get(model) {
            known.store(code, Relaxed);
        }
    }
}

/// Whether a refusal says that the engine does not accept a limit under this name.
pub(super) fn refuses(message: &str, field: LimitField) -> bool {
    let message = message.to_ascii_lowercase();
    let has = |phrases: &[&str]| phrases.iter().any(|phrase| message.contains(phrase));
    message.contains(field.name()) && has(&REFUSALS) && !has(&OF_VALUES)
}

/// Whether a refusal is about an output limit.
pub(super) fn is_about_limit(message: &str) -> bool {
    LIMITS.iter().any(|name| message.contains(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_names_the_field_that_the_engine_does_not_take() {
        use LimitField::{MaxCompletionTokens, MaxTokens};
        for (message, field, expected) in [
            (
                "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
                MaxTokens,
                true,
            ),
            ("body.max_completion_tokens: Extra inputs are not permitted", MaxCompletionTokens, true),
            ("body.max_completion_tokens: Extra inputs are not permitted", MaxTokens, false),
            ("Unrecognized request argument supplied: max_completion_tokens", MaxCompletionTokens, true),
            ("Unsupported parameter (param max_tokens)", MaxTokens, true),
            ("unknown field `max_completion_tokens`", MaxCompletionTokens, true),
            ("max_tokens must be at least 1, got 0.", MaxTokens, false),
            ("max_tokens=4096 is not allowed: the most is 2048", MaxTokens, false),
            ("`max_completion_tokens` must be less than or equal to `16384`", MaxCompletionTokens, false),
            (
                "'max_tokens' or 'max_completion_tokens' is too large: 4096. This model's maximum context length is 2048 tokens",
                MaxTokens,
                false,
            ),
            ("Unsupported parameter: 'temperature' is not supported with this model.", MaxTokens, false),
        ] {
            assert_eq!(refuses(message, field), expected, "{message}");
        }
    }

    #[test]
    fn a_name_is_remembered_for_each_model() {
        let models = ["a".to_owned(), "b".to_owned()];
        let fields = LimitFields::new(models.iter());
        fields.set("a", Some(LimitField::MaxCompletionTokens));
        fields.set("other", Some(LimitField::MaxTokens));
        assert_eq!(fields.get("a"), Some(LimitField::MaxCompletionTokens));
        assert_eq!((fields.get("b"), fields.get("other")), (None, None));
        fields.set("a", None);
        assert_eq!(fields.get("a"), None);
    }
}
