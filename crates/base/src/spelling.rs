//! The nearest known name to an unknown one, for its error.

use strsim::levenshtein;

/// The name in `known` with the fewest single-character changes from `name`; `None` if more than half of the characters would change.
pub fn nearest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    // A name far longer than any known one resembles none, so it is not compared.
    let length = name.chars().take(NAME_CHARS_MAX + 1).count();
    if length > NAME_CHARS_MAX {
        return None;
    }
    let distance = |candidate: &&'a str| levenshtein(&name.to_lowercase(), candidate);
    let nearest = known.iter().copied().min_by_key(distance)?;
    (distance(&nearest) * 2 <= length.max(nearest.chars().count())).then_some(nearest)
}

const NAME_CHARS_MAX: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_name_that_may_have_been_meant_is_offered() {
        let known = ["request_body", "metadata", "completion_window", "webhook"];
        for (name, expected) in [
            ("web_hook", Some("webhook")),
            ("Webhook", Some("webhook")),
            ("meta", Some("metadata")),
            ("body", None),
            ("zzzz", None),
            ("", None),
        ] {
            assert_eq!(nearest(name, &known), expected, "{name}");
        }
        assert_eq!(nearest(&"webhook".repeat(1000), &known), None);
    }
}
