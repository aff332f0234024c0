//! Just enough reading of Rust to see past comments and strings.

/// The text with every comment and every string and character literal blanked; each line keeps its place and length.
pub(crate) fn code_of(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut at = 0;
    let mut in_word = false;
    while let Some(next) = text[at..].chars().next() {
        // Inside a word, an `r` or `b` is not a prefix of a literal.
        let quoted = if in_word && is_part_of_word(next) { 0 } else { quoted_bytes(&text[at..]) };
        if quoted == 0 {
            code.push(next);
            at += next.len_utf8();
        } else {
            let blanked = text[at..at + quoted].bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' });
            code.extend(blanked);
            at += quoted;
        }
        in_word = quoted == 0 && is_part_of_word(next);
    }
    code
}

fn is_part_of_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// The bytes of comment or literal at the beginning of `text`.
fn quoted_bytes(text: &str) -> usize {
    if text.starts_with("//") {
        return text.find('\n').unwrap_or(text.len());
    }
    if text.starts_with("/*") {
        return comment_bytes(text);
    }
    let unprefixed = text.trim_start_matches(['b', 'c']);
    if text.len() - unprefixed.len() > 1 {
        return 0;
    }
    let prefix = text.len() - unprefixed.len();
    if let Some(raw) = unprefixed.strip_prefix('r') {
        let hashes = raw.len() - raw.trim_start_matches('#').len();
        let opening = prefix + 1 + hashes + 1;
        let closing = format!("\"{}", "#".repeat(hashes));
        return match raw[hashes..].strip_prefix('"') {
            Some(inside) => inside.find(&closing).map_or(text.len(), |end| opening + end + closing.len()),
            None => 0,
        };
    }
    match unprefixed.chars().next() {
        Some('"') => prefix + literal_bytes(unprefixed, '"'),
        Some('\'') if !is_lifetime(unprefixed) => prefix + literal_bytes(unprefixed, '\''),
        _ => 0,
    }
}

fn comment_bytes(text: &str) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while at < text.len() {
        if text[at..].starts_with("/*") {
            (depth, at) = (depth + 1, at + 2);
        } else if text[at..].starts_with("*/") {
            (depth, at) = (depth - 1, at + 2);
            if depth == 0 {
                return at;
            }
        } else {
            at += text[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    text.len()
}

fn literal_bytes(text: &str, quote: char) -> usize {
    let mut characters = text.char_indices().skip(1);
    while let Some((at, character)) = characters.next() {
        if character == '\\' {
            characters.next();
        } else if character == quote {
            return at + 1;
        }
    }
    text.len()
}

/// Whether the apostrophe at the beginning of `text` opens a lifetime: a name follows, and no closing apostrophe.
fn is_lifetime(text: &str) -> bool {
    let mut after = text.chars().skip(1);
    let named = after.next().is_some_and(|character| character.is_alphabetic() || character == '_');
    named && after.next() != Some('\'')
}

/// Every identifier and keyword, with the byte at which it begins.
pub(crate) fn words(code: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        at += code[at..].find(is_part_of_word)?;
        let length = code[at..].find(|character| !is_part_of_word(character)).unwrap_or(code.len() - at);
        let word = (at, &code[at..at + length]);
        at += length;
        Some(word)
    })
}

/// The line of a byte, counted from 1.
pub(crate) fn line_of(text: &str, byte: usize) -> usize {
    text[..byte].matches('\n').count() + 1
}

/// The closing bracket of the one at the beginning of `code[open..]`.
pub(crate) fn closing(code: &str, open: usize) -> Option<usize> {
    let mut depth = 0_u32;
    for (at, character) in code[open..].char_indices() {
        match character {
            '{' | '(' | '[' => depth += 1,
            '}' | ')' | ']' => depth -= 1,
            _ => continue,
        }
        if depth == 0 {
            return Some(open + at);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_literals_are_blanked_and_nothing_else() {
        let cases = [
            ("let a = \"b // c\"; // d", "let a =         ;     "),
            ("r#\"a \"b\" c\"# d", "             d"),
            ("b\"\\\"\" '\\'' b'x' '\"' e", "                    e"),
            ("fn f<'a>(x: &'a str) {}", "fn f<'a>(x: &'a str) {}"),
            ("/* a /* b */ c */ d\n\"x\ny\"", "                  d\n  \n  "),
            ("r#type for_r \"s\" cb", "r#type for_r     cb"),
        ];
        for (text, expected) in cases {
            assert_eq!(code_of(text), expected, "{text}");
        }
    }
}
