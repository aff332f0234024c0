//! Text that looks the same on a terminal, on a page and to a person.

use std::borrow::Cow;

/// Whether a character has an effect instead of being seen: it moves the cursor, turns the direction of the next text, or is invisible, so
/// that one text passes for another.
pub fn misleads(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{61c}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{2069}'
                | '\u{feff}'
        )
}

/// Writes such characters as escapes.
pub fn escaped(text: &str) -> Cow<'_, str> {
    if !text.contains(misleads) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match misleads(character) {
            true => escaped.extend(character.escape_default()),
            false => escaped.push(character),
        }
    }
    Cow::Owned(escaped)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_misleads_is_written_as_an_escape_and_the_rest_stays() {
        assert_eq!(escaped("Ärzte \u{1f680} שלום"), "Ärzte \u{1f680} שלום");
        for character in
            "\u{1b}\u{7f}\u{85}\u{61c}\u{200b}\u{200f}\u{2028}\u{202e}\u{2060}\u{2069}\u{feff}".chars()
        {
            assert!(misleads(character), "{character:?}");
            let text = format!("a{character}b");
            assert_eq!(escaped(&text), format!("a{}b", character.escape_default()));
        }
        for character in "\u{200a}\u{2010}\u{2027}\u{202f}\u{205f}\u{206a}".chars() {
            assert!(!misleads(character), "{character:?}");
        }
    }
}
