//! Browser tokens: 256 random bits, of which only the SHA-256 is stored.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

/// The secret of a cookie or link.
pub(crate) struct Token([u8; 32]);

impl Token {
    pub(crate) const fn new(bits: [u8; 32]) -> Self {
        Self(bits)
    }

    /// Reads the output of [`Token::text`].
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
        bytes.try_into().ok().map(Self)
    }

    /// The form in a cookie or link.
    pub(crate) fn text(&self) -> String {
        URL_SAFE_NO_PAD.encode(self.0)
    }

    pub(crate) fn sha256(&self) -> [u8; 32] {
        Sha256::digest(self.0).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_reads_back_and_nothing_else_is_one() {
        let token = Token::new([7; 32]);
        assert_eq!(token.text().len(), 43);
        assert_eq!(Token::parse(&token.text()).map(|token| token.0), Some([7; 32]));
        for wrong in ["", "x", &token.text()[1..], &format!("{}A", token.text()), "é"] {
            assert!(Token::parse(wrong).is_none(), "{wrong}");
        }
    }
}
