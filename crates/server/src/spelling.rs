//! The nearest known name to one that is unknown, for the sentence that refuses it.

/// The name in `known` that is the fewest single-character changes away from `name`, unless none is near enough to
/// have been meant: more than half of the characters would have to change.
pub(crate) fn nearest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    // A name far longer than any known one resembles none, and comparing it would be work for nothing.
    let length = name.chars().take(NAME_CHARS_MAX + 1).count();
    if length > NAME_CHARS_MAX {
        return None;
    }
    let distance = |candidate: &&'a str| edit_distance(&name.to_lowercase(), candidate);
    let nearest = known.iter().copied().min_by_key(distance)?;
    (distance(&nearest) * 2 <= length.max(nearest.chars().count())).then_some(nearest)
}

const NAME_CHARS_MAX: usize = 64;

/// Levenshtein's distance in characters, by Wagner and Fischer's rows.
pub(crate) fn edit_distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (index, from) in left.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], index + 1);
        for (column, to) in right.iter().enumerate() {
            let replaced = diagonal + usize::from(from != *to);
            diagonal = row[column + 1];
            row[column + 1] = replaced.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edit_distances_count_single_changes() {
        for (left, right, expected) in
            [("", "", 0), ("", "abc", 3), ("lease", "leese", 1), ("kitten", "sitting", 3), ("ß", "s", 1)]
        {
            assert_eq!(edit_distance(left, right), expected, "{left} {right}");
        }
    }

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
