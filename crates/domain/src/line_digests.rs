//! Digests of the lines of a bulk create, which match answers to lines.

use sha2::{Digest, Sha256};

/// The digest of a line that arrives in pieces, without the `\r` before its line break.
#[derive(Debug, Clone, Default)]
pub struct LineDigest {
    hash: Sha256,
    ends_with_return: bool,
}

impl LineDigest {
    /// The digest of a whole line, in hexadecimal.
    pub fn of(line: &[u8]) -> String {
        let mut digest = Self::default();
        digest.update(line);
        digest.finish()
    }

    /// Adds the next piece.
    pub fn update(&mut self, piece: &[u8]) {
        let Some((last, rest)) = piece.split_last() else { return };
        if std::mem::replace(&mut self.ends_with_return, *last == b'\r') {
            self.hash.update(b"\r");
        }
        self.hash.update(if self.ends_with_return { rest } else { piece });
    }

    /// The digest in hexadecimal.
    pub fn finish(self) -> String {
        format!("{:x}", self.hash.finalize())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_the_same_digest_in_pieces_and_with_a_carriage_return() {
        let expected = format!("{:x}", Sha256::digest(b"a\rline"));
        for pieces in [&["a\rline"][..], &["a\rline\r"], &["a\r", "", "line", "\r"], &["a", "\r", "line\r"]] {
            let mut digest = LineDigest::default();
            pieces.iter().for_each(|piece| digest.update(piece.as_bytes()));
            assert_eq!(digest.finish(), expected, "{pieces:?}");
        }
        assert_eq!(LineDigest::of(b"a\rline\r"), expected);
    }
}
