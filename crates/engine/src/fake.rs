//! A model for tests: bytes are tokens, a function of the whole sequence chooses the next one, and every call is checked against the limits
//! of the real decoder.

use std::sync::{Arc, Mutex};

use crate::model::{BatchEntry, Capacity, DecodeFailed, Decoder, STEP_TOKENS_MAX, Token, Vocabulary};

/// Ends a turn; the other tokens are the 256 bytes.
pub(crate) const END: Token = 256;

pub(crate) struct FakeVocabulary {
    bytes: Vec<u8>,
}

impl Default for FakeVocabulary {
    fn default() -> Self {
        Self { bytes: (0..=255).collect() }
    }
}

impl Vocabulary for FakeVocabulary {
    fn tokenize(&self, pieces: &mut dyn Iterator<Item = &str>) -> Vec<Token> {
        pieces.flat_map(str::bytes).map(Token::from).collect()
    }

    fn tokenize_input(&self, text: &str) -> Vec<Token> {
        text.bytes().map(Token::from).chain([END]).collect()
    }

    fn piece(&self, token: Token) -> &[u8] {
        self.bytes.get(token as usize..=token as usize).unwrap_or_default()
    }

    fn ends_turn(&self, token: Token) -> bool {
        token == END
    }

    fn end_tokens(&self) -> &[Token] {
        &[END]
    }

    fn token_count(&self) -> usize {
        257
    }

    fn longest_piece(&self) -> usize {
        1
    }
}

/// Batches that a [`FakeDecoder`] computed.
pub(crate) type Log = Arc<Mutex<Vec<Vec<BatchEntry>>>>;

pub(crate) struct FakeDecoder {
    next: fn(&[Token]) -> Token,
    sequences: Vec<Vec<Token>>,
    logits: Vec<Vec<f32>>,
    log: Log,
    fails_at: Option<usize>,
}

impl FakeDecoder {
    pub(crate) fn new(capacity: Capacity, next: fn(&[Token]) -> Token) -> (Self, Log) {
        let log = Log::default();
        let sequences = vec![Vec::new(); capacity.sequences];
        (Self { next, sequences, logits: Vec::new(), log: Arc::clone(&log), fails_at: None }, log)
    }

    /// Fails the step of this number, counted from 0.
    pub(crate) fn failing_at(mut self, step: usize) -> Self {
        self.fails_at = Some(step);
        self
    }
}

impl Decoder for FakeDecoder {
    fn decode(&mut self, batch: &[BatchEntry]) -> Result<(), DecodeFailed> {
        assert!(!batch.is_empty() && batch.len() <= STEP_TOKENS_MAX, "a batch of {}", batch.len());
        let mut log = self.log.lock().expect("the log");
        log.push(batch.to_vec());
        if self.fails_at == Some(log.len() - 1) {
            return Err(DecodeFailed("as the test wants".to_owned()));
        }
        self.logits.clear();
        for entry in batch {
            let held = &mut self.sequences[entry.sequence];
            assert_eq!(held.len(), entry.position, "a gap in sequence {}", entry.sequence);
            held.push(entry.token);
            let mut logits = vec![0.0; if entry.wants_logits { 257 } else { 0 }];
            if entry.wants_logits {
                logits[(self.next)(held) as usize] = 50.0;
            }
            self.logits.push(logits);
        }
        Ok(())
    }

    fn logits(&self, index: usize) -> &[f32] {
        assert!(!self.logits[index].is_empty(), "logits that nobody wanted");
        &self.logits[index]
    }

    fn copy_prefix(&mut self, from: usize, to: usize, length: usize) {
        assert!(self.sequences[to].is_empty() && from != to, "a copy onto a sequence in use");
        self.sequences[to] = self.sequences[from][..length].to_vec();
    }

    fn clear(&mut self, sequence: usize) {
        self.sequences[sequence].clear();
    }
}

/// A letter that depends on all tokens before it, so that a wrong prefix gives a wrong answer.
pub(crate) fn letter_of_everything(tokens: &[Token]) -> Token {
    let sum = tokens.iter().fold(7_u32, |sum, token| sum.wrapping_mul(31).wrapping_add(*token));
    Token::from(b'a') + (sum >> 3) % 26
}

/// The alphabet, cyclically, with the end of the turn after `z`.
pub(crate) fn next_letter(tokens: &[Token]) -> Token {
    match tokens.last() {
        Some(&last) if last == Token::from(b'z') => END,
        Some(&last) if last < END => last + 1,
        _ => Token::from(b'a'),
    }
}
