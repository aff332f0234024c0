//! Searching the reference.

/// All words must occur; without words, everything matches.
#[derive(Debug, Default)]
pub(super) struct Search {
    words: String,
}

impl Search {
    /// The longest search, in characters; more is cut.
    pub(super) const MAX: usize = 100;

    pub(super) fn new(words: &str) -> Self {
        Self { words: words.chars().take(Self::MAX).collect::<String>().trim().to_lowercase() }
    }

    pub(super) fn is_for_all(&self) -> bool {
        self.words.is_empty()
    }

    pub(super) fn words(&self) -> &str {
        &self.words
    }

    /// Whether each word is in one of these texts, in upper or lower case.
    pub(super) fn finds(&self, texts: &[&str]) -> bool {
        if self.is_for_all() {
            return true;
        }
        let text = texts.join("\n").to_lowercase();
        self.words.split_whitespace().all(|word| text.contains(word))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_must_be_in_a_text() {
        let search = Search::new("  Cancel BATCH ");
        assert!(search.finds(&["/v1/batches", "Cancels it"]));
        assert!(!search.finds(&["/v1/requests", "Cancels it"]));
        assert!(Search::default().finds(&[]));
    }

    #[test]
    fn words_that_are_too_many_are_cut() {
        assert_eq!(Search::new(&"ä".repeat(1_000)).words().chars().count(), Search::MAX);
    }
}
