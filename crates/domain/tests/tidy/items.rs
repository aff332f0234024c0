//! The functions of a source.

use crate::rust::{closing, line_of, words};

/// A function with a body: its name, its first line and its last.
pub(crate) struct Function<'a> {
    pub(crate) name: &'a str,
    pub(crate) first_line: usize,
    pub(crate) last_line: usize,
}

pub(crate) fn functions(code: &str) -> Vec<Function<'_>> {
    let mut found = Vec::new();
    let mut all = words(code).peekable();
    while let Some((start, word)) = all.next() {
        let Some(&(at, name)) = all.peek() else { break };
        if word != "fn" || code[start + 2..at].trim() != "" {
            continue;
        }
        let Some(end) = body_end(code, at) else { continue };
        found.push(Function { name, first_line: line_of(code, start), last_line: line_of(code, end) });
    }
    found
}

/// The end of the body of the function whose signature continues at `at`; `None` without a body.
fn body_end(code: &str, mut at: usize) -> Option<usize> {
    loop {
        at += code[at..].find(['{', ';', '(', '['])?;
        match code.as_bytes()[at] {
            b'{' => return closing(code, at),
            b';' => return None,
            _ => at = closing(code, at)? + 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_found_with_their_ends() {
        let code = "fn a(x: [u8; 2], f: impl Fn() -> u8) -> u8 {\n    if true { 1 } else { 2 }\n}\ntype F = fn(u8);\ntrait T { fn b(); fn c() {} }\n";
        let found: Vec<_> =
            functions(code).iter().map(|one| (one.name, one.first_line, one.last_line)).collect();
        assert_eq!(found, [("a", 1, 3), ("c", 5, 5)]);
    }
}
