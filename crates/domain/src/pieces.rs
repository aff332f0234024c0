//! The pieces in which a file of lines is read and stored.

/// Maximum bytes of a piece, unless it is one longer line.
pub const PIECE_BYTES: usize = 256 << 10;

/// Maximum lines of a piece.
pub const PIECE_LINES: usize = 256;

/// The length of the next piece, if there are enough lines for one.
pub fn whole_lines(text: &[u8]) -> Option<usize> {
    let length = first_lines(text)?;
    let is_full =
        length >= PIECE_BYTES || text.len() >= PIECE_BYTES || lines_in(&text[..length]) == PIECE_LINES;
    is_full.then_some(length)
}

/// The length of the whole lines that fit into a piece, and of at least one; `None` if none is whole.
pub fn first_lines(text: &[u8]) -> Option<usize> {
    let (mut lines, mut end) = (0, None);
    for place in memchr::memchr_iter(b'\n', text) {
        if end.is_some() && place >= PIECE_BYTES {
            break;
        }
        end = Some(place + 1);
        lines += 1;
        if lines == PIECE_LINES {
            break;
        }
    }
    end
}

fn lines_in(text: &[u8]) -> usize {
    memchr::memchr_iter(b'\n', text).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_has_whole_lines_and_is_cut_where_it_is_long_enough() {
        assert_eq!(
            (first_lines(b"a"), first_lines(b"a\nb"), first_lines(b"a\nb\n")),
            (None, Some(2), Some(4))
        );
        assert_eq!(whole_lines(b"a\nb\n"), None, "more may come");
        let many = "x\n".repeat(PIECE_LINES + 1);
        assert_eq!(whole_lines(many.as_bytes()), Some(2 * PIECE_LINES));
        let long = format!("{}\n", "x".repeat(PIECE_BYTES));
        assert_eq!(whole_lines(long.as_bytes()), Some(long.len()), "a long line is a piece of its own");
        let after = format!("a\n{long}");
        assert_eq!(whole_lines(after.as_bytes()), Some(2));
    }
}
