//! An unused dependency is compiled, updated and distributed in vain.

use crate::{
    imports::own_paths,
    manifests::{Dependency, crate_name, dependencies, manifests},
    modules::declared,
    rust::words,
    tree::{File, Finding, Tree},
};

const WORKSPACE: &str = "Cargo.toml";

/// Dependencies of a crate that its sources do not name, and those of the workspace that no crate has.
pub(crate) fn unused_dependencies(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for manifest in manifests(tree) {
        let folder = format!("crates/{}/", crate_name(manifest));
        for dependency in dependencies(manifest) {
            let (places, name) = (places(&dependency), dependency.name.replace('-', "_"));
            let is_there = |file: &File| {
                let inner = file.path.strip_prefix(&folder);
                inner.is_some_and(|inner| places.iter().any(|place| inner.starts_with(place)))
            };
            if !tree.rust().any(|file| is_there(file) && names_crate(&file.code, &name)) {
                let message = format!("`{}` is named nowhere in {}", dependency.name, places.join(", "));
                findings.push(manifest.finding(dependency.line, message));
            }
        }
    }
    findings.extend(unused_in_workspace(tree));
    findings
}

/// Where a crate names its dependencies.
fn places(dependency: &Dependency<'_>) -> &'static [&'static str] {
    match dependency.table {
        "[dev-dependencies]" => &["src/", "tests/", "benches/", "examples/"],
        "[build-dependencies]" => &["build.rs"],
        _ => &["src/"],
    }
}

/// Whether the code names a crate, and not a module, a method or a variable of the same name.
fn names_crate(code: &str, name: &str) -> bool {
    if !code.contains(name) {
        return false;
    }
    let has_own =
        declared(code).contains(&name) || own_paths(code).iter().any(|path| path.names.last() == Some(&name));
    words(code).filter(|(_, word)| *word == name).any(|(at, _)| {
        let (before, behind) = (code[..at].trim_end(), &code[at + name.len()..]);
        match before.strip_suffix("::") {
            // From the root of all names, or a part of a path.
            Some(before) => !before.ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == '>'),
            None => {
                let is_used = before.ends_with("use") || before.ends_with("extern crate");
                !has_own && (behind.starts_with("::") || behind.starts_with('!') || is_used)
            }
        }
    })
}

fn unused_in_workspace(tree: &Tree) -> Vec<Finding> {
    let Some(workspace) = tree.files.iter().find(|file| file.path == WORKSPACE) else { return Vec::new() };
    let used: Vec<&str> = manifests(tree).flat_map(dependencies).map(|dependency| dependency.name).collect();
    let unused = dependencies(workspace).filter(|dependency| !used.contains(&dependency.name));
    unused.map(|it| workspace.finding(it.line, format!("no crate depends on `{}`", it.name))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::check;

    const MANIFEST: &str = "\
[dependencies]\nbytes = { workspace = true }\nhttp-body.workspace = true\nserde = \"1\"\nmetrics = \"1\"\ntime = \"1\"\n\
[target.'cfg(unix)'.dependencies]\nlibc = \"1\"\n\
[dev-dependencies]\nproptest = \"1\"\ntempfile = \"1\"\n";
    const SOURCE: &str = "\
use bytes::Bytes;\nuse super::metrics;\n// libc::kill\n#[derive(serde::Serialize)]\nstruct A {\n    pub(crate) time: u8,\n}\n\
fn f() {\n    metrics::install();\n    std::time::now();\n    self.http_body();\n    \"http_body::Body\";\n}\n";

    #[test]
    fn what_no_source_names_is_found_whatever_else_is_called_the_same() {
        let files = [
            ("crates/a/Cargo.toml", MANIFEST),
            ("crates/a/src/lib.rs", SOURCE),
            ("crates/a/tests/it.rs", "use http_body::Body;\nproptest! {}\n"),
            ("crates/ab/src/lib.rs", "use tempfile::tempdir;\n"),
        ];
        check(
            unused_dependencies,
            &files,
            &[
                "crates/a/Cargo.toml:3: `http-body` is named nowhere in src/",
                "crates/a/Cargo.toml:5: `metrics` is named nowhere in src/",
                "crates/a/Cargo.toml:6: `time` is named nowhere in src/",
                "crates/a/Cargo.toml:8: `libc` is named nowhere in src/",
                "crates/a/Cargo.toml:11: `tempfile` is named nowhere in src/, tests/, benches/, examples/",
            ],
        );
    }

    #[test]
    fn what_no_crate_depends_on_is_found_in_the_workspace() {
        let files = [
            ("Cargo.toml", "[workspace.dependencies]\nserde = \"1\"\ninsta = { version = \"1\" }\n"),
            ("crates/a/Cargo.toml", "[dependencies]\nserde = { workspace = true }\n"),
            ("crates/a/src/lib.rs", "use serde::Serialize;\n"),
        ];
        check(unused_dependencies, &files, &["Cargo.toml:3: no crate depends on `insta`"]);
    }
}
