//! Quotes commands that a person copies into a shell.

pub(crate) fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./=:,@%+".contains(letter);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn a_word_is_quoted_where_a_shell_would_take_it_apart() {
        for (word, expected) in [
            ("prompts.jsonl", "prompts.jsonl"),
            ("--url=http://127.0.0.1:80", "--url=http://127.0.0.1:80"),
            ("my file", "'my file'"),
            ("it's", "'it'\\''s'"),
            ("", "''"),
        ] {
            assert_eq!(quoted(word), expected);
        }
    }
}
