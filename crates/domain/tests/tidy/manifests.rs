//! Which crate may depend on which.

use crate::tree::{File, Finding, Tree};

const OWN_PREFIX: &str = "overnight-";

/// Each crate, and the crates of this repository that it may depend on.
const ARROWS: [(&str, &[&str]); 7] = [
    ("domain", &[]),
    ("wire", &["domain"]),
    ("server", &["domain", "wire"]),
    ("client", &["wire"]),
    ("engine", &[]),
    ("sim", &["domain", "server", "wire"]),
    ("cli", &["client", "domain", "server", "sim", "wire"]),
];

/// The crates that everything rests on, and all that they may take from elsewhere.
const LIGHT: [(&str, &[&str]); 2] = [
    ("domain", &["base64", "hmac", "memchr", "serde", "serde_json", "sha2", "subtle", "thiserror"]),
    ("wire", &["serde", "serde_json", "utoipa"]),
];

/// `cli → client | server | sim`, `client → wire → domain ← server → wire`; tests may also reach for the simulation.
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
            let for_tests = dependency.table == "[dev-dependencies]" && inner == "sim";
            if !allowed.contains(&inner) && !for_tests {
                findings.push(file.finding(dependency.line, format!("{name} must not depend on {inner}")));
            }
        }
    }
    findings
}

/// What is true and what is said need no runtime, no database and no network.
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

fn manifests(tree: &Tree) -> impl Iterator<Item = &File> {
    tree.files.iter().filter(|file| file.path.starts_with("crates/") && file.path.ends_with("/Cargo.toml"))
}

fn crate_name(file: &File) -> &str {
    file.path.split('/').nth(1).unwrap_or_default()
}

struct Dependency<'a> {
    table: &'a str,
    name: &'a str,
    line: usize,
}

fn dependencies(file: &File) -> impl Iterator<Item = Dependency<'_>> {
    let mut table = "";
    file.lines().filter_map(move |(line, text)| {
        if text.starts_with('[') {
            table = text;
        }
        let name = text.split(['=', '.']).next()?.trim();
        let is_dependency = table.ends_with("dependencies]") && text.contains('=') && !text.starts_with('#');
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
            ("crates/server/Cargo.toml", "[dependencies]\novernight-sim = { workspace = true }\n"),
            ("crates/sim/Cargo.toml", "[dependencies]\novernight-server.workspace = true\n"),
            ("crates/new/Cargo.toml", "[package]\n"),
        ];
        check(
            arrows_between_crates,
            &files,
            &[
                "crates/server/Cargo.toml:2: server must not depend on sim",
                "crates/new/Cargo.toml:1: the crate new has no line in tidy's table of arrows",
            ],
        );
    }

    #[test]
    fn tests_may_use_the_simulation() {
        let files =
            [("crates/server/Cargo.toml", "[dev-dependencies]\novernight-sim = { workspace = true }\n")];
        check(arrows_between_crates, &files, &[]);
    }

    #[test]
    fn a_runtime_in_the_domain_is_found() {
        let text = "[dependencies]\nserde = { workspace = true }\ntokio = { workspace = true }\n";
        let message =
            "domain takes nothing but base64, hmac, memchr, serde, serde_json, sha2, subtle, thiserror";
        check(
            heavy_dependencies,
            &[("crates/domain/Cargo.toml", text)],
            &[&format!("crates/domain/Cargo.toml:3: {message}")],
        );
    }
}
