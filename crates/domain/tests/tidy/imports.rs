//! Paths that a source names from its crate, its parent or itself.

use crate::rust::{closing, line_of, words};

/// The beginnings of such paths.
const BEGINNINGS: [&str; 3] = ["crate", "super", "self"];
const FOR_TESTS: &str = "#[cfg(test)]";

/// A path, each member of a group by itself: `use super::{a, b::C}` names `super::a` and `super::b::C`.
#[derive(Debug, PartialEq)]
pub(crate) struct OwnPath<'a> {
    pub(crate) line: usize,
    pub(crate) names: Vec<&'a str>,
}

/// Every path that begins with `crate`, `super` or `self`, in code and not as the reach of a `pub`.
pub(crate) fn own_paths(code: &str) -> Vec<OwnPath<'_>> {
    let mut found = Vec::new();
    let mut read_to = 0;
    for (at, word) in words(code) {
        let before = code[..at].trim_end();
        let begins = BEGINNINGS.contains(&word) && !before.ends_with("::") && !before.ends_with("(in");
        if at >= read_to && begins && separator_end(code, at + word.len()).is_some() {
            read_to = collect(code, at, &[], &mut found);
        }
    }
    found
}

/// Reads the path, or the part of one, that begins at `at`; returns its end.
fn collect<'a>(code: &'a str, at: usize, above: &[&'a str], found: &mut Vec<OwnPath<'a>>) -> usize {
    let name = words(&code[at..]).next().filter(|(start, _)| *start == 0).map_or("", |(_, name)| name);
    let mut names = above.to_vec();
    if !matches!(name, "" | "self") || above.is_empty() {
        names.push(name);
    }
    let end = at + name.len();
    match separator_end(code, end) {
        Some(next) if !name.is_empty() && code[next..].starts_with('{') => {
            for member in group_members(code, next) {
                collect(code, member, &names, found);
            }
            closing(code, next).unwrap_or(code.len())
        }
        Some(next) if !name.is_empty() => collect(code, next, &names, found),
        _ => {
            found.push(OwnPath { line: line_of(code, at), names });
            end
        }
    }
}

/// Where the path continues, if `::` is at `at`.
fn separator_end(code: &str, at: usize) -> Option<usize> {
    let behind = code[at..].trim_start().strip_prefix("::")?.trim_start();
    Some(code.len() - behind.len())
}

/// Where each member begins in the group that begins at `code[open..]`.
fn group_members(code: &str, open: usize) -> Vec<usize> {
    let end = closing(code, open).unwrap_or(code.len());
    let mut starts = vec![open + 1];
    let mut depth = 0_u32;
    for (at, character) in code[open..end].char_indices() {
        match character {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 1 => starts.push(open + at + 1),
            _ => {}
        }
    }
    let first_character =
        |start: usize| code[start..end].find(|c: char| !c.is_whitespace()).map(|at| start + at);
    starts.into_iter().filter_map(first_character).collect()
}

/// The code with all items blanked that are compiled only for tests; each line keeps its place.
pub(crate) fn without_tests(code: &str) -> String {
    let mut kept = String::with_capacity(code.len());
    let mut rest = code;
    while let Some(start) = rest.find(FOR_TESTS) {
        let end = item_end(rest, start + FOR_TESTS.len());
        kept.push_str(&rest[..start]);
        kept.extend(rest[start..end].bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' }));
        rest = &rest[end..];
    }
    kept + rest
}

/// The end of the item that continues at `at`: behind its body, or its semicolon.
fn item_end(code: &str, mut at: usize) -> usize {
    while let Some(next) = code[at..].find(['{', ';', '(', '[']) {
        at += next;
        let end = if code[at..].starts_with(';') { at } else { closing(code, at).unwrap_or(code.len() - 1) };
        if code[at..].starts_with(['{', ';']) {
            return end + 1;
        }
        at = end + 1;
    }
    code.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_member_of_a_group_is_a_path() {
        let code = "\
use crate::{\n    app::{self, Services, pages::*},\n    store::Store,\n};\n\
pub(in crate::app) fn a() -> super::super::B<u8> {\n    self::c::<crate::D>();\n    self.e(axum::self_test::f)\n}\n";
        let found: Vec<_> =
            own_paths(code).iter().map(|path| format!("{} {}", path.line, path.names.join("::"))).collect();
        assert_eq!(
            found,
            [
                "2 crate::app",
                "2 crate::app::Services",
                "2 crate::app::pages",
                "3 crate::store::Store",
                "5 super::super::B",
                "6 self::c",
                "6 crate::D"
            ]
        );
    }

    #[test]
    fn what_tests_alone_compile_is_blanked() {
        let code = "use a::B;\n#[cfg(test)]\n#[expect(x)]\npub(super) use c::{D, E};\nfn f() {}\n#[cfg(test)]\nmod tests {\n    use g::H;\n}\nfn i() {}\n";
        let kept = without_tests(code);
        let lines: Vec<&str> = kept.lines().map(str::trim_end).collect();
        assert_eq!(
            lines,
            ["use a::B;", "", "", "                        ;", "fn f() {}", "", "", "", "", "fn i() {}"]
        );
    }
}
