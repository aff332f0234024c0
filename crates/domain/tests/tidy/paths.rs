//! A path named by a document must exist.

use crate::tree::{File, Finding, Tree};

const ENDINGS: [&str; 16] = [
    ".rs", ".md", ".toml", ".lock", ".sql", ".sh", ".py", ".txt", ".json", ".jsonl", ".gguf", ".html",
    ".css", ".js", ".yml", ".yaml",
];
/// Files that documents may name: those that users write, that are in the data folder, and that packages contain.
const ELSEWHERE: [&str; 7] = [
    "overnight.toml",
    "prompts.jsonl",
    "results.jsonl",
    "overnight.lock",
    "serve.json",
    "last-backup.json",
    "sbom.cdx.json",
];

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

/// Links, and text in backticks that looks like a path.
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
    let in_crate = path.split_once('/').map(|(name, rest)| format!("crates/{name}/src/{rest}"));
    ELSEWHERE.contains(&path)
        || tree.holds(path)
        || tree.holds(&beside(file, path))
        || in_crate.is_some_and(|path| tree.holds(&path))
        || tree.holds_below(path)
}

/// A path relative to the document's folder.
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
}
