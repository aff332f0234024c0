//! A set of tokens, one bit each. Tokens beyond the vocabulary are in no set.

use crate::model::Token;

const BITS: usize = 32;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenSet {
    words: Vec<u32>,
}

impl TokenSet {
    /// The lowest bit of the first word is for token 0.
    #[must_use]
    pub fn from_words(words: Vec<u32>) -> Self {
        Self { words }
    }

    #[must_use]
    pub fn all(token_count: usize) -> Self {
        let mut words = vec![u32::MAX; token_count.div_ceil(BITS)];
        if let Some(last) = words.last_mut()
            && !token_count.is_multiple_of(BITS)
        {
            *last = (1 << (token_count % BITS)) - 1;
        }
        Self { words }
    }

    /// All `tokens` are below `token_count`.
    #[must_use]
    pub fn of(tokens: &[Token], token_count: usize) -> Self {
        let mut words = vec![0; token_count.div_ceil(BITS)];
        for &token in tokens {
            if let Some(word) = words.get_mut(token as usize / BITS) {
                *word |= 1 << (token as usize % BITS);
            }
        }
        Self { words }
    }

    #[must_use]
    pub fn contains(&self, token: Token) -> bool {
        let word = self.words.get(token as usize / BITS);
        word.is_some_and(|word| word >> (token as usize % BITS) & 1 == 1)
    }

    /// Removes tokens, unless that would leave none.
    pub fn remove_unless_last(&mut self, tokens: impl IntoIterator<Item = Token>) {
        let before = self.words.clone();
        for token in tokens {
            if let Some(word) = self.words.get_mut(token as usize / BITS) {
                *word &= !(1 << (token as usize % BITS));
            }
        }
        if self.words.iter().all(|&word| word == 0) {
            self.words = before;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::TokenSet;

    fn members(set: &TokenSet) -> Vec<u32> {
        (0..100).filter(|&token| set.contains(token)).collect()
    }

    #[test]
    fn a_set_holds_the_tokens_of_the_vocabulary_and_no_others() {
        assert_eq!(members(&TokenSet::all(33)), (0..33).collect::<Vec<_>>());
        assert_eq!(members(&TokenSet::all(64)), (0..64).collect::<Vec<_>>());
        assert_eq!(members(&TokenSet::of(&[3, 32, 70], 40)), [3, 32]);
        assert_eq!(members(&TokenSet::from_words(vec![5])), [0, 2]);
    }

    #[test]
    fn tokens_are_taken_out_as_long_as_one_stays() {
        let mut set = TokenSet::of(&[1, 2, 40], 41);
        set.remove_unless_last([2, 7, 99]);
        assert_eq!(members(&set), [1, 40]);
        set.remove_unless_last([1, 40]);
        assert_eq!(members(&set), [1, 40]);
    }
}
