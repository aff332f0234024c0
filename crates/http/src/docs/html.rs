//! Text in HTML.

use std::fmt::{self, Display};

/// Escapes text for HTML.
pub(super) struct Text<'a>(pub(super) &'a str);

impl Display for Text<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for character in self.0.chars() {
            match character {
                '<' => formatter.write_str("&lt;")?,
                '>' => formatter.write_str("&gt;")?,
                '&' => formatter.write_str("&amp;")?,
                '"' => formatter.write_str("&quot;")?,
                other => write!(formatter, "{other}")?,
            }
        }
        Ok(())
    }
}

/// A description: text in backticks becomes code.
pub(super) struct Prose<'a>(pub(super) &'a str);

impl Display for Prose<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, part) in self.0.split('`').enumerate() {
            if place % 2 == 0 {
                write!(formatter, "{}", Text(part))?;
            } else {
                write!(formatter, "<code>{}</code>", Text(part))?;
            }
        }
        Ok(())
    }
}

/// A description of several paragraphs.
pub(super) struct Paragraphs<'a>(pub(super) &'a str);

impl Display for Paragraphs<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for paragraph in self.0.split("\n\n").filter(|paragraph| !paragraph.trim().is_empty()) {
            write!(formatter, "<p>{}</p>", Prose(paragraph))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_becomes_markup() {
        assert_eq!(
            Paragraphs("a `<b>` & \"c\"\n\n<d>").to_string(),
            "<p>a <code>&lt;b&gt;</code> &amp; &quot;c&quot;</p><p>&lt;d&gt;</p>"
        );
    }
}
