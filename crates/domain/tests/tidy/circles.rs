//! Modules that name each other in a circle can be understood, moved and tested only together.
//!
//! Folders count: of the modules in one folder, each with everything in it, none may lead back to itself. A module and its inner modules
//! belong together, and may name each other.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    imports::own_paths,
    modules::{Modules, crate_roots, modules_of},
    tree::{File, Finding, Tree},
};

/// Circles still to be removed. One that is gone, or has changed, must be removed from this list too.
const TOLERATED: &[&str] = &[];

pub(crate) fn circles_between_modules(tree: &Tree) -> Vec<Finding> {
    circles_except(tree, TOLERATED)
}

fn circles_except(tree: &Tree, tolerated: &[&str]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut seen = BTreeSet::new();
    for root in crate_roots(tree) {
        for (folder, namings) in namings_by_folder(root, &modules_of(tree, root)) {
            for circle in circles(&namings) {
                let name = format!("{folder}: {}", Vec::from_iter(circle.iter().copied()).join(", "));
                if !tolerated.contains(&&*name) {
                    let inside = namings.iter().filter(|naming| naming.is_inside(&circle));
                    findings.extend(inside.map(|naming| naming.finding(&name)));
                }
                seen.insert(name);
            }
        }
    }
    let gone = tolerated.iter().filter(|name| !seen.contains(**name));
    findings
        .extend(gone.map(|name| Finding::new(file!(), 1, format!("there is no circle `{name}` any more"))));
    findings
}

/// One module of a folder names another, first at this place.
struct Naming<'a> {
    from: String,
    to: String,
    file: &'a File,
    line: usize,
}

impl Naming<'_> {
    fn is_inside(&self, circle: &BTreeSet<&str>) -> bool {
        circle.contains(&*self.from) && circle.contains(&*self.to)
    }

    fn finding(&self, circle: &str) -> Finding {
        self.file.finding(self.line, format!("{} names {}, in the circle `{circle}`", self.from, self.to))
    }
}

/// For each folder of a crate, which of its modules name which others.
fn namings_by_folder<'a>(root: &File, modules: &Modules<'a>) -> BTreeMap<String, Vec<Naming<'a>>> {
    let source = root.path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut folders: BTreeMap<String, Vec<Naming<'_>>> = BTreeMap::new();
    for (from, module) in modules {
        for path in own_paths(&module.code) {
            let to = resolve(modules, from, &path.names);
            let shared = from.iter().zip(&to).take_while(|(one, other)| one == other).count();
            // One of the two contains the other.
            let (Some(one), Some(other)) = (from.get(shared), to.get(shared)) else { continue };
            let folder = std::iter::once(source).chain(from[..shared].iter().map(String::as_str));
            let namings = folders.entry(Vec::from_iter(folder).join("/")).or_default();
            if !namings.iter().any(|naming| naming.from == *one && naming.to == *other) {
                let (from, to) = (one.clone(), other.clone());
                namings.push(Naming { from, to, file: module.file, line: path.line });
            }
        }
    }
    folders
}

/// The module that a path leads to, or that contains its target.
fn resolve(modules: &Modules<'_>, from: &[String], names: &[&str]) -> Vec<String> {
    let mut to = from.to_vec();
    for name in names {
        match *name {
            "crate" => to.clear(),
            "super" => drop(to.pop()),
            "self" => {}
            name => {
                to.push(name.to_owned());
                if !modules.contains_key(&to) {
                    to.pop();
                    break;
                }
            }
        }
    }
    to
}

/// The largest sets of modules that all lead to each other.
fn circles<'a>(namings: &'a [Naming<'_>]) -> BTreeSet<BTreeSet<&'a str>> {
    let reached: BTreeMap<&str, BTreeSet<&str>> =
        namings.iter().map(|naming| (&*naming.from, reached_from(&naming.from, namings))).collect();
    let leads = |from: &str, to: &str| reached.get(from).is_some_and(|all| all.contains(to));
    let circle_of = |one: &&'a str| {
        let others = reached.keys().copied().filter(|other| leads(one, other) && leads(other, one));
        others.collect::<BTreeSet<_>>()
    };
    reached.keys().map(circle_of).filter(|circle| !circle.is_empty()).collect()
}

fn reached_from<'a>(from: &str, namings: &'a [Naming<'_>]) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut waiting = vec![from];
    while let Some(at) = waiting.pop() {
        for naming in namings.iter().filter(|naming| naming.from == at) {
            if reached.insert(&*naming.to) {
                waiting.push(&naming.to);
            }
        }
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::check;

    const CIRCLE: [(&str, &str); 6] = [
        ("crates/a/src/lib.rs", "mod http;\nmod queue;\nmod store;\npub use http::serve;\n"),
        ("crates/a/src/http.rs", "use crate::store::{self, rows};\n"),
        ("crates/a/src/queue.rs", "use super::http::serve;\n"),
        ("crates/a/src/store/mod.rs", "mod rows;\n#[cfg(test)]\nmod tests;\npub use self::rows::Row;\n"),
        ("crates/a/src/store/rows.rs", "use super::Row;\n\nfn f(queue: crate::queue::Queue) {}\n"),
        ("crates/a/src/store/tests.rs", "use crate::queue;\n"),
    ];

    #[test]
    fn a_circle_through_a_folder_is_found() {
        let name = "crates/a/src: http, queue, store";
        check(
            |tree| circles_except(tree, &[]),
            &CIRCLE,
            &[
                &format!("crates/a/src/http.rs:1: http names store, in the circle `{name}`"),
                &format!("crates/a/src/queue.rs:1: queue names http, in the circle `{name}`"),
                &format!("crates/a/src/store/rows.rs:3: store names queue, in the circle `{name}`"),
            ],
        );
    }

    #[test]
    fn parents_tests_and_what_is_tolerated_make_no_circle() {
        let files = [
            ("crates/a/src/main.rs", "mod one;\nmod two;\n"),
            ("crates/a/src/one/mod.rs", "mod inner;\nuse self::inner::Inner;\nuse crate::two::Two;\n"),
            ("crates/a/src/one/inner.rs", "use super::One;\nuse crate::two::Two;\n"),
            (
                "crates/a/src/two.rs",
                "use crate::start;\n#[cfg(test)]\nmod tests {\n    use crate::one::One;\n}\n",
            ),
        ];
        check(|tree| circles_except(tree, &[]), &files, &[]);
        check(|tree| circles_except(tree, &["crates/a/src: http, queue, store"]), &CIRCLE, &[]);
    }

    #[test]
    fn a_tolerated_circle_that_is_gone_is_found() {
        let expected = format!("{}:1: there is no circle `crates/a/src: one, two` any more", file!());
        check(
            |tree| circles_except(tree, &["crates/a/src: one, two"]),
            &[("crates/a/src/lib.rs", "")],
            &[&expected],
        );
    }
}
