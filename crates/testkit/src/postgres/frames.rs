//! The frames of PostgreSQL's protocol, which both sides send once a session has begun.

use std::io::{self, Read};

/// Client: statements as text.
pub(super) const QUERY: u8 = b'Q';
/// Client: the end of a group of messages that are answered together.
pub(super) const SYNC: u8 = b'S';
/// Client: the call of a function, from before there were statements with parameters.
pub(super) const FUNCTION_CALL: u8 = b'F';
/// Server: it has answered, and waits for the next message.
pub(super) const READY: u8 = b'Z';
/// Server: a statement has completed; the body is its tag.
pub(super) const COMPLETE: u8 = b'C';
pub(super) const ERROR: u8 = b'E';

pub(super) const LENGTH_BYTES: u32 = 4;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) kind: u8,
    pub(super) body_bytes: u32,
}

impl Header {
    pub(super) fn read(from: &mut impl Read) -> io::Result<Self> {
        let mut bytes = [0; 5];
        from.read_exact(&mut bytes)?;
        let [kind, length @ ..] = bytes;
        let body_bytes = u32::from_be_bytes(length).checked_sub(LENGTH_BYTES);
        let body_bytes = body_bytes.ok_or_else(|| io::Error::other("a frame shorter than its own length"))?;
        Ok(Self { kind, body_bytes })
    }

    pub(super) fn encode(self) -> [u8; 5] {
        let [a, b, c, d] = (self.body_bytes + LENGTH_BYTES).to_be_bytes();
        [self.kind, a, b, c, d]
    }

    /// Whether the server answers this client message with one [`READY`], after all earlier answers.
    pub(super) fn asks(self) -> bool {
        matches!(self.kind, QUERY | SYNC | FUNCTION_CALL)
    }
}

/// Whether this body of a [`QUERY`] contains only a commit.
pub(super) fn is_commit(body: &[u8]) -> bool {
    let text = body.strip_suffix(&[0]).unwrap_or(body);
    text.trim_ascii().eq_ignore_ascii_case(b"COMMIT")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_read_as_it_was_written() {
        let header = Header { kind: QUERY, body_bytes: 70_000 };
        assert_eq!(Header::read(&mut &header.encode()[..]).unwrap(), header);
        assert!(Header::read(&mut &[QUERY, 0, 0, 0, 3][..]).is_err());
    }

    #[test]
    fn only_a_bare_commit_is_one() {
        for text in ["COMMIT\0", " commit \n\0"] {
            assert!(is_commit(text.as_bytes()), "{text}");
        }
        for text in ["COMMIT PREPARED 'a'\0", "SELECT 'COMMIT'\0", "\0", ""] {
            assert!(!is_commit(text.as_bytes()), "{text}");
        }
    }
}
