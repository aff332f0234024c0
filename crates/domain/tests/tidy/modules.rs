//! The modules of each crate. Files that no `mod` declares are not compiled, and drift.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    imports::without_tests,
    rust::words,
    tree::{File, Finding, Tree},
};

/// Rust sources that no crate compiles.
pub(crate) fn undeclared_files(tree: &Tree) -> Vec<Finding> {
    let mut reached = BTreeSet::new();
    let mut waiting: Vec<&File> = crate_roots(tree).collect();
    while let Some(file) = waiting.pop() {
        if reached.insert(&file.path) {
            let candidates: Vec<String> =
                declared(&file.code).into_iter().flat_map(|module| places(tree, file, module)).collect();
            waiting.extend(tree.rust().filter(|other| candidates.contains(&other.path)));
        }
    }
    let lost = tree.rust().filter(|file| !reached.contains(&file.path));
    lost.map(|file| file.finding(1, "no `mod` declares this file")).collect()
}

/// A module of a crate: its file, and its code without what is compiled only for tests.
pub(crate) struct Module<'a> {
    pub(crate) file: &'a File,
    pub(crate) code: String,
}

/// The modules of a crate by their paths within it; the crate itself has the empty path.
pub(crate) type Modules<'a> = BTreeMap<Vec<String>, Module<'a>>;

/// The modules that are compiled from a crate's root without its tests.
pub(crate) fn modules_of<'a>(tree: &'a Tree, root: &'a File) -> Modules<'a> {
    let mut modules = Modules::new();
    let mut waiting = vec![(Vec::new(), root)];
    while let Some((path, file)) = waiting.pop() {
        let code = without_tests(&file.code);
        for name in declared(&code) {
            let places = places(tree, file, name);
            let inner = path.iter().cloned().chain([name.to_owned()]).collect();
            waiting
                .extend(tree.rust().find(|other| places.contains(&other.path)).map(|other| (inner, other)));
        }
        modules.insert(path, Module { file, code });
    }
    modules
}

/// The files at which cargo begins to compile.
pub(crate) fn crate_roots(tree: &Tree) -> impl Iterator<Item = &File> {
    tree.rust().filter(|file| is_crate_root(tree, &file.path))
}

/// Whether cargo compiles a file as a root: by its place, or because the manifest names it.
fn is_crate_root(tree: &Tree, path: &str) -> bool {
    let Some((package, inner)) = in_package(path) else { return false };
    let segments: Vec<&str> = inner.split('/').collect();
    match segments[..] {
        ["build.rs"] | ["src", "lib.rs" | "main.rs"] => true,
        ["tests" | "benches" | "examples", _] | ["tests" | "benches" | "examples", _, "main.rs"] => true,
        ["src", "bin", _] | ["src", "bin", _, "main.rs"] => true,
        _ => {
            let manifest = format!("{package}/Cargo.toml");
            let line = format!("path = \"{inner}\"");
            tree.files.iter().any(|file| file.path == manifest && file.text.contains(&line))
        }
    }
}

/// Splits `crates/name/inner/file.rs` into its package and the rest.
fn in_package(path: &str) -> Option<(&str, &str)> {
    let name_end = path.strip_prefix("crates/")?.find('/')? + "crates/".len();
    Some((&path[..name_end], &path[name_end + 1..]))
}

/// The modules that a source declares with `mod name;`.
pub(crate) fn declared(code: &str) -> Vec<&str> {
    let all: Vec<(usize, &str)> = words(code).collect();
    let is_declaration = |pair: &&[(usize, &str)]| {
        let (at, name) = pair[1];
        pair[0].1 == "mod" && code[at + name.len()..].starts_with(';')
    };
    all.windows(2).filter(is_declaration).map(|pair| pair[1].1).collect()
}

/// Possible files of a module that `file` declares.
fn places(tree: &Tree, file: &File, module: &str) -> [String; 2] {
    let (folder, name) = file.path.rsplit_once('/').unwrap_or(("", &file.path));
    let below = match name {
        "mod.rs" => folder.to_owned(),
        _ if is_crate_root(tree, &file.path) => folder.to_owned(),
        _ => format!("{folder}/{}", name.trim_end_matches(".rs")),
    };
    [format!("{below}/{module}.rs"), format!("{below}/{module}/mod.rs")]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::check;

    #[test]
    fn a_file_left_after_a_split_is_found() {
        let files = [
            ("crates/a/src/lib.rs", "pub mod engine;\n// mod old;\n#[cfg(test)]\nmod tests;\n"),
            ("crates/a/src/engine/mod.rs", "mod cache;\n"),
            ("crates/a/src/engine/cache.rs", "mod cells;\n"),
            ("crates/a/src/engine/cache/cells.rs", ""),
            ("crates/a/src/tests.rs", ""),
            ("crates/a/src/old.rs", "mod older;\n"),
            ("crates/a/src/older.rs", ""),
            ("crates/a/tests/it/main.rs", "mod lives;\n"),
            ("crates/a/tests/it/lives.rs", ""),
            ("crates/a/benches/create.rs", ""),
        ];
        check(
            undeclared_files,
            &files,
            &[
                "crates/a/src/old.rs:1: no `mod` declares this file",
                "crates/a/src/older.rs:1: no `mod` declares this file",
            ],
        );
    }
}
