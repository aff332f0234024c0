//! How a statement says how many rows it wants.

use crate::tree::{Finding, Tree};

const STORE: &str = "crates/server/src/store/";
const PLACES: [&str; 2] = ["LIMIT ?", "OFFSET ?"];

/// A limit that is a bare variable: SQLite's planner looks at its value, so every execution is planned anew.
pub(crate) fn bare_limits(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.rust().filter(|file| file.path.starts_with(STORE)) {
        for (line, text) in file.lines() {
            for place in PLACES {
                if text.split(place).skip(1).any(|behind| !behind.starts_with(" + 0")) {
                    findings.push(file.finding(line, format!("`{place}` must be `{place} + 0`")));
                }
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::check;

    #[test]
    fn a_bare_limit_is_found_in_the_store_alone() {
        let bare = "const A: &str = \"SELECT 1 LIMIT ?\";\n";
        let text = "const A: &str = \"SELECT 1 LIMIT ? + 0 OFFSET ?)\";\n// LIMIT 1\n";
        check(
            bare_limits,
            &[
                ("crates/server/src/store/a.rs", bare),
                ("crates/server/src/app/b.rs", bare),
                ("crates/server/src/store/c.rs", text),
            ],
            &[
                "crates/server/src/store/a.rs:1: `LIMIT ?` must be `LIMIT ? + 0`",
                "crates/server/src/store/c.rs:1: `OFFSET ?` must be `OFFSET ? + 0`",
            ],
        );
    }
}
