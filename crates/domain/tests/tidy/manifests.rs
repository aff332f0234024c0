//! Which crate may depend on which.

use crate::tree::{File, Finding, Tree};

/// The crate that tests of every crate may use.
const FOR_TESTS: &str = "testkit";
const OWN_PREFIX: &str = "overnight-";

/// Each crate, and the crates of this repository that it may depend on.
const ARROWS: [(&str, &[&str]); 21] = [
    ("domain", &[]),
    ("wire", &["domain"]),
    ("base", &["domain"]),
    ("hub", &[]),
    ("tables", &[]),
    ("config", &["base", "domain", "hub"]),
    ("store", &["base", "domain"]),
    ("outgoing", &["base", "config", "domain"]),
    ("engine-clients", &["base", "config", "domain", "hub", "outgoing"]),
    ("app", &["base", "config", "domain", "outgoing", "store", "wire"]),
    ("runtime", &["app", "base", "config", "domain", "engine-clients", "outgoing", "store", "wire"]),
    ("http", &["app", "base", "config", "domain", "outgoing", "wire"]),
    ("console", &["app", "base", "config", "domain", "http", "wire"]),
    (
        "server",
        &[
            "app",
            "base",
            "config",
            "console",
            "domain",
            "engine-clients",
            "http",
            "outgoing",
            "runtime",
            "store",
            "wire",
        ],
    ),
    ("client", &["wire"]),
    ("engine", &[]),
    ("fuzz", &["domain", "wire"]),
    ("testkit", &[]),
    ("simulation", &["app", "base", "config", "domain", "runtime", "store"]),
    ("bench", &["app", "base", "config", "domain", "store", "testkit"]),
    (
        "cli",
        &[
            "app",
            "base",
            "client",
            "config",
            "console",
            "domain",
            "engine-clients",
            "http",
            "hub",
            "outgoing",
            "server",
            "store",
            "tables",
            "wire",
        ],
    ),
];

/// The lowest crates, and all their external dependencies.
const LIGHT: [(&str, &[&str]); 2] = [
    (
        "domain",
        &[
            "base64",
            "bytes",
            "crc32fast",
            "hashlink",
            "hmac",
            "memchr",
            "serde_json",
            "sha2",
            "siphasher",
            "subtle",
            "thiserror",
            "url",
        ],
    ),
    ("wire", &["serde", "serde_json", "utoipa"]),
];

/// Cargo refuses a circle; this table refuses an unintended dependency. Tests of every crate may also use the testkit.
pub(crate) fn arrows_between_crates(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in manifests(tree) {
        let name = crate_name(file);
        let Some((_, allowed)) = ARROWS.iter().find(|(known, _)| *known == name) else {
            findings.push(file.finding(1, format!("the crate {name} has no line in tidy's table of arrows")));
            continue;
        };
        for dependency in dependencies(file) {
            let Some(inner) = dependency.name.strip_prefix(OWN_PREFIX) else { continue };
            let for_tests = dependency.table == "[dev-dependencies]" && inner == FOR_TESTS;
            if !allowed.contains(&inner) && !for_tests {
                findings.push(file.finding(dependency.line, format!("{name} must not depend on {inner}")));
            }
        }
    }
    findings
}

/// The lowest crates need no runtime, no database and no network.
pub(crate) fn heavy_dependencies(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in manifests(tree) {
        let name = crate_name(file);
        let Some((_, allowed)) = LIGHT.iter().find(|(known, _)| *known == name) else { continue };
        for dependency in dependencies(file).filter(|dependency| dependency.table == "[dependencies]") {
            if !dependency.name.starts_with(OWN_PREFIX) && !allowed.contains(&dependency.name) {
                let message = format!("{name} takes nothing but {}", allowed.join(", "));
                findings.push(file.finding(dependency.line, message));
            }
        }
    }
    findings
}

pub(crate) fn manifests(tree: &Tree) -> impl Iterator<Item = &File> {
    tree.files.iter().filter(|file| file.path.starts_with("crates/") && file.path.ends_with("/Cargo.toml"))
}

pub(crate) fn crate_name(file: &File) -> &str {
    file.path.split('/').nth(1).unwrap_or_default()
}

/// A manifest's line with a dependency, and the table that contains it.
pub(crate) struct Dependency<'a> {
    pub(crate) table: &'a str,
    pub(crate) name: &'a str,
    pub(crate) line: usize,
}

pub(crate) fn dependencies(file: &File) -> impl Iterator<Item = Dependency<'_>> {
    let mut table = "";
    file.lines().filter_map(move |(line, text)| {
        if text.starts_with('[') {
            table = text;
        }
        let name = text.split(['=', '.']).next()?.trim();
        let is_entry = text.contains('=') && !text.starts_with(['#', '[']);
        let is_dependency = table.ends_with("dependencies]") && is_entry;
        is_dependency.then_some(Dependency { table, name, line })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::check;

    #[test]
    fn an_arrow_the_wrong_way_is_found() {
        let files = [
            ("crates/server/Cargo.toml", "[dependencies]\novernight-testkit = { workspace = true }\n"),
            ("crates/testkit/Cargo.toml", "[dependencies]\novernight-server.workspace = true\n"),
            ("crates/cli/Cargo.toml", "[dev-dependencies]\novernight-simulation = { workspace = true }\n"),
            ("crates/new/Cargo.toml", "[package]\n"),
        ];
        check(
            arrows_between_crates,
            &files,
            &[
                "crates/server/Cargo.toml:2: server must not depend on testkit",
                "crates/testkit/Cargo.toml:2: testkit must not depend on server",
                "crates/cli/Cargo.toml:2: cli must not depend on simulation",
                "crates/new/Cargo.toml:1: the crate new has no line in tidy's table of arrows",
            ],
        );
    }

    #[test]
    fn tests_may_use_the_testkit() {
        let files =
            [("crates/server/Cargo.toml", "[dev-dependencies]\novernight-testkit = { workspace = true }\n")];
        check(arrows_between_crates, &files, &[]);
    }

    #[test]
    fn a_runtime_in_the_domain_is_found() {
        let text = "[dependencies]\nserde_json = { workspace = true }\ntokio = { workspace = true }\n";
        let message = "domain takes nothing but base64, bytes, crc32fast, hashlink, hmac, memchr, serde_json, sha2, siphasher, subtle, thiserror, url";
        check(
            heavy_dependencies,
            &[("crates/domain/Cargo.toml", text)],
            &[&format!("crates/domain/Cargo.toml:3: {message}")],
        );
    }
}
