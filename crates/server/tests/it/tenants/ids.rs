//! Identifiers in bodies and answers.

/// The digits of a thing's identifier, and of a response item's, which includes its index.
const DIGITS: [usize; 2] = [26, 28];

fn is_digit(byte: u8) -> bool {
    byte.is_ascii_digit() || byte.is_ascii_lowercase()
}

/// The identifiers of a text in order, each with its offset.
pub(super) fn find(text: &str) -> Vec<(usize, &str)> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    for (place, _) in text.match_indices('_') {
        let digits = bytes[place + 1..].iter().take_while(|byte| is_digit(**byte)).count();
        let prefix = bytes[..place]
            .iter()
            .rev()
            .take_while(|byte| byte.is_ascii_lowercase() || **byte == b'_')
            .count();
        let prefix = text[place - prefix..place].trim_start_matches('_');
        if DIGITS.contains(&digits) && !prefix.is_empty() {
            let begin = place - prefix.len();
            found.push((begin, &text[begin..=place + digits]));
        }
    }
    found
}

/// The text with identifiers replaced by `name`, and random tokens of forms by `FORM`.
pub(super) fn renamed(text: &str, mut name: impl FnMut(&str) -> String) -> String {
    let (mut out, mut end) = (String::with_capacity(text.len()), 0);
    for (begin, id) in find(text) {
        out.push_str(&text[end..begin]);
        out.push_str(&name(id));
        end = begin + id.len();
    }
    out.push_str(&text[end..]);
    without_tokens(&out)
}

/// A page has a token of 64 hexadecimal digits for its forms.
fn without_tokens(text: &str) -> String {
    let (mut out, mut run) = (String::with_capacity(text.len()), String::new());
    for character in text.chars().chain(['\0']) {
        if character.is_ascii_hexdigit() {
            run.push(character);
            continue;
        }
        out.push_str(if run.len() == 64 { "FORM" } else { &run });
        run.clear();
        out.push(character);
    }
    out.pop();
    out
}

/// An unknown identifier of the same kind and time.
pub(super) fn unlike(id: &str) -> String {
    let (rest, last) = id.split_at(id.len() - 1);
    format!("{rest}{}", if last == "0" { "1" } else { "0" })
}

#[test]
fn identifiers_are_found_wherever_they_stand() {
    let id = "file_output_01jz8m3v6qf8jbk2w5n7y9t0xd";
    let text = format!(
        "/files/{id}/x_y {{\"id\":\"{id}\"}} call_01jz8m3v6qf8jbk2w5n7y9t0xdd {}",
        "0af".repeat(21) + "9"
    );
    let found: Vec<&str> = find(&text).into_iter().map(|(_, id)| id).collect();
    assert_eq!(found, [id, id]);
    let renamed = renamed(&text, |_| "ID".to_owned());
    let is_so = renamed.starts_with("/files/ID/x_y {\"id\":\"ID\"} call_") && renamed.ends_with(" FORM");
    assert!(is_so, "{renamed}");
    assert_ne!(unlike(id), id);
}
