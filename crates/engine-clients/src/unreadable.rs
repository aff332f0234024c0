//! Unusable answers in the operator's log.

use overnight_outgoing::transport::printable;

const LOGGED_BYTES: usize = 1 << 10;

/// The beginning of an answer, escaped for one log line.
pub(super) fn beginning_of(answer: &[u8]) -> String {
    printable(&String::from_utf8_lossy(&answer[..answer.len().min(LOGGED_BYTES)]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_beginning_of_an_answer_is_one_line_of_a_kibibyte() {
        assert_eq!(beginning_of(b"a\n\xff\0"), "a\\n\u{fffd}\\u{0}");
        assert_eq!(beginning_of(&[b'a'; 5_000]).len(), 1_024);
    }
}
