//! What documents name must exist: paths, and the tests that show an invariant.

use crate::{
    rust::{code_of, functions},
    tree::{File, Finding, Tree},
};

const ENDINGS: [&str; 16] = [
    ".rs", ".md", ".toml", ".lock", ".sql", ".sh", ".py", ".txt", ".json", ".jsonl", ".gguf", ".html",
    ".css", ".js", ".yml", ".yaml",
];
/// Files that exist only once the program has run, or that users write; documents may name them.
const OF_USERS: [&str; 4] = ["overnight.toml", "results.jsonl", "prompts.jsonl", "pyproject.toml"];

const ARCHITECTURE: &str = "ARCHITECTURE.md";
const INVARIANTS: &str = "## What always holds";
const SHOWN_BY: &str = "Shown by ";

/// Paths in backticks, links and commands that lead nowhere.
pub(crate) fn missing_paths(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.files.iter().filter(|file| file.path.ends_with(".md")) {
        let mut fenced = false;
        for (line, text) in file.lines() {
            if text.trim_start().starts_with("```") {
                fenced = !fenced;
                continue;
            }
            let named = if fenced { in_command(tree, text) } else { in_prose(tree, file, text) };
            for path in named.into_iter().filter(|path| !exists(tree, file, path)) {
                findings.push(file.finding(line, format!("`{path}` does not exist")));
            }
        }
    }
    findings
}

/// The words of a command that begin with a folder of the repository, or with `./`.
fn in_command<'a>(tree: &Tree, text: &'a str) -> Vec<&'a str> {
    let of_repository = |word: &str| word.starts_with("./") || begins_at_root(tree, word);
    text.split_whitespace()
        .filter(|word| is_plain(word) && word.contains('/') && of_repository(word))
        .collect()
}

/// Links, and what in backticks looks like a path.
fn in_prose<'a>(tree: &Tree, file: &File, text: &'a str) -> Vec<&'a str> {
    let quoted = text.split('`').skip(1).step_by(2);
    let mut paths: Vec<&str> = quoted.filter(|span| looks_like_a_path(tree, file, span)).collect();
    for link in text.split("](").skip(1) {
        let target = link.split([')', '#', ' ']).next().unwrap_or_default();
        if !target.is_empty() && !target.contains(':') {
            paths.push(target);
        }
    }
    paths
}

fn looks_like_a_path(tree: &Tree, file: &File, span: &str) -> bool {
    if !is_plain(span) || span.starts_with('/') {
        return false;
    }
    let beside = beside(file, span.split('/').next().unwrap_or_default());
    let begins_here = span.contains('/') && (begins_at_root(tree, span) || tree.holds(&beside));
    begins_here
        || span.starts_with("./")
        || ENDINGS.iter().any(|ending| span.ends_with(ending) && span != *ending)
}

/// No blank, no placeholder, no pattern, no address.
fn is_plain(span: &str) -> bool {
    !span.is_empty() && !span.contains(|c: char| c.is_whitespace() || "{}<>*$:=()\"'|…".contains(c))
}

fn begins_at_root(tree: &Tree, path: &str) -> bool {
    path.split('/').next().is_some_and(|first| !first.is_empty() && first != "." && tree.holds(first))
}

fn exists(tree: &Tree, file: &File, path: &str) -> bool {
    let path = path.trim_start_matches("./").trim_end_matches('/');
    OF_USERS.contains(&path) || tree.holds(path) || tree.holds(&beside(file, path)) || tree.holds_below(path)
}

/// A path as seen from the folder of the document.
fn beside(file: &File, path: &str) -> String {
    let mut segments: Vec<&str> = file.path.split('/').collect();
    segments.pop();
    for segment in path.split('/') {
        match segment {
            ".." => drop(segments.pop()),
            "." => {}
            _ => segments.push(segment),
        }
    }
    segments.join("/")
}

/// Invariants of the architecture that name no test, and names of tests that do not exist.
pub(crate) fn unshown_invariants(tree: &Tree) -> Vec<Finding> {
    let Some(file) = tree.files.iter().find(|file| file.path == ARCHITECTURE) else { return Vec::new() };
    let tests = names_of_tests(tree);
    let mut findings = Vec::new();
    for (line, invariant) in invariants(file) {
        let Some((_, shown_by)) = invariant.split_once(SHOWN_BY) else {
            findings.push(file.finding(line, "this invariant names no test"));
            continue;
        };
        for name in
            shown_by.split('`').skip(1).step_by(2).filter(|name| !tests.iter().any(|test| test == name))
        {
            findings.push(file.finding(line, format!("no test is called `{name}`")));
        }
    }
    if findings.is_empty() && invariants(file).is_empty() {
        findings.push(file.finding(1, format!("the numbered list under `{INVARIANTS}` is missing")));
    }
    findings
}

/// The numbered items under the heading, each with its first line.
fn invariants(file: &File) -> Vec<(usize, String)> {
    let mut items: Vec<(usize, String)> = Vec::new();
    let in_section = file.lines().skip_while(|(_, text)| *text != INVARIANTS).skip(1);
    for (line, text) in in_section.take_while(|(_, text)| !text.starts_with("## ")) {
        let number = text.split('.').next().unwrap_or_default();
        if !number.is_empty() && number.chars().all(|character| character.is_ascii_digit()) {
            items.push((line, text.to_owned()));
        } else if let Some((_, item)) = items.last_mut() {
            *item = format!("{item} {}", text.trim());
        }
    }
    items
}

fn names_of_tests(tree: &Tree) -> Vec<String> {
    let mut names = Vec::new();
    for file in tree.rust() {
        let code = code_of(&file.text);
        let lines: Vec<&str> = code.lines().collect();
        for function in functions(&code) {
            let above = lines[..function.first_line - 1].iter().rev();
            let mut attributes =
                above.take_while(|line| line.trim().is_empty() || line.trim().starts_with("#["));
            if attributes.any(|line| line.contains("test")) {
                names.push(function.name.to_owned());
            }
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::check;

    #[test]
    fn paths_that_lead_nowhere_are_found() {
        let document = "\
See `crates/a/src/lib.rs`, `src/lib.rs`, `crates/a/src/`, [versions](docs/versions.md#old), [web](https://a.b/c.md).\n\
Also `crates/b/src`, `gone.rs`, `GET /v1/models`, `/v1/requests`, `application/json`, `results.jsonl`, `OVERNIGHT_URL`.\n\
```\n\
./run docs/none.txt -o out.jsonl http://host/crates/x\n\
```\n\
[here](missing.md)\n";
        let files = [
            ("README.md", document),
            ("crates/a/src/lib.rs", ""),
            ("docs/versions.md", "[up](../README.md) [beside](other.md)\n"),
        ];
        check(
            missing_paths,
            &files,
            &[
                "README.md:2: `crates/b/src` does not exist",
                "README.md:2: `gone.rs` does not exist",
                "README.md:4: `./run` does not exist",
                "README.md:4: `docs/none.txt` does not exist",
                "README.md:6: `missing.md` does not exist",
                "docs/versions.md:1: `other.md` does not exist",
            ],
        );
    }

    #[test]
    fn an_invariant_without_a_test_is_found() {
        let document = "\
# Architecture\n\
## What always holds\n\
1. Nothing is lost. Shown by `nothing_is_lost`,\n   `nothing_is_found`.\n\
2. Nothing is charged.\n\
## Else\n\
1. Not an invariant.\n";
        let source = "#[tokio::test(flavor = \"current_thread\")]\nasync fn nothing_is_lost() {}\nfn nothing_is_found() {}\n";
        check(
            unshown_invariants,
            &[("ARCHITECTURE.md", document), ("crates/a/tests/it.rs", source)],
            &[
                "ARCHITECTURE.md:3: no test is called `nothing_is_found`",
                "ARCHITECTURE.md:5: this invariant names no test",
            ],
        );
    }
}
