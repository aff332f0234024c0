//! The growing text of an answer, byte by byte, and the stop strings that end it.

/// Bytes of an answer; a stop string is found across tokens too.
#[derive(Debug)]
pub struct Text {
    bytes: Vec<u8>,
    stops: Vec<String>,
    keeps_stop: bool,
    cut: Option<usize>,
}

impl Text {
    /// Ends before the first of `stops`, none of which is empty, or after it if `keeps_stop`.
    #[must_use]
    pub fn new(stops: Vec<String>, keeps_stop: bool) -> Self {
        Self { bytes: Vec::new(), stops, keeps_stop, cut: None }
    }

    /// Adds a token's bytes; returns whether the text has a stop string now.
    pub fn push(&mut self, piece: &[u8]) -> bool {
        let known = self.bytes.len();
        self.bytes.extend_from_slice(piece);
        let first = |stop: &String| {
            let from = known.saturating_sub(stop.len() - 1);
            self.bytes[from..]
                .windows(stop.len())
                .position(|found| found == stop.as_bytes())
                .map(|at| (from + at, from + at + stop.len()))
        };
        let stop = self.stops.iter().filter_map(first).min();
        self.cut = stop.map(|(start, end)| if self.keeps_stop { end } else { start });
        self.cut.is_some()
    }

    #[must_use]
    pub fn len(&self) -> usize {
        self.cut.unwrap_or(self.bytes.len())
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The text up to its end; invalid UTF-8 becomes U+FFFD.
    #[must_use]
    pub fn finish(mut self) -> String {
        self.bytes.truncate(self.len());
        String::from_utf8(self.bytes)
            .unwrap_or_else(|invalid| String::from_utf8_lossy(invalid.as_bytes()).into_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::Text;

    fn check(stops: &[&str], pieces: &[&[u8]], stopped_at: Option<usize>, expected: &str) {
        let mut text = Text::new(stops.iter().map(|&stop| stop.to_owned()).collect(), false);
        assert_eq!(pieces.iter().position(|piece| text.push(piece)), stopped_at, "{stops:?} in {pieces:?}");
        assert_eq!(text.finish(), expected);
    }

    #[test]
    fn a_stop_string_ends_the_text_before_it() {
        check(&["b"], &[b"a", b"b", b"c"], Some(1), "a");
        check(&["never"], &[b"a", b"b"], None, "ab");
        check(&[], &[b"a"], None, "a");
    }

    #[test]
    fn a_stop_string_can_stay_in_the_text() {
        let mut text = Text::new(vec!["END".to_owned()], true);
        assert!(!text.push(b"xEN") && text.push(b"D and more"));
        assert_eq!(text.finish(), "xEND");
    }

    #[test]
    fn a_stop_string_is_found_across_tokens_and_inside_one() {
        check(&["END"], &[b"xE", b"N", b"Dy"], Some(2), "x");
        check(&["END"], &[b"one END two"], Some(0), "one ");
        check(&["aab"], &[b"a", b"a", b"a", b"b"], Some(3), "a");
    }

    #[test]
    fn the_earliest_of_several_stop_strings_cuts() {
        check(&["two", "one"], &[b"zero one two"], Some(0), "zero ");
        check(&["abc", "b"], &[b"a", b"bc"], Some(1), "");
    }

    #[test]
    fn characters_are_assembled_across_tokens() {
        check(&[], &["é".as_bytes().split_at(1).0, "é".as_bytes().split_at(1).1], None, "é");
        check(&["€"], &[b"5 \xE2", b"\x82", b"\xAC!"], Some(2), "5 ");
    }

    #[test]
    fn bytes_that_are_no_text_are_replaced() {
        check(&[], &[b"a\xFFb", b"\xE2\x82"], None, "a\u{FFFD}b\u{FFFD}");
    }
}
