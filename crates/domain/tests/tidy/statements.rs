//! Where SQL may be written.

use crate::rust::{closing, line_of};
use crate::tree::{File, Finding, Tree};

const CRATES: &str = "crates/";
const DECLARED_IN: &str = "crates/server/src/store/";
/// What every statement begins with, as it stands behind a quotation mark.
const VERBS: [&str; 6] =
    ["\"SELECT ", "\"INSERT INTO ", "\"UPDATE ", "\"DELETE FROM ", "\"WITH ", "\"WITH RECURSIVE "];
const DECLARATION: &str = "statements! {";

/// Files that have to do with connections, transactions and schemas, or that make statements of a list of columns; and what is
/// not the service. Each says why.
const OTHERS: [&str; 7] = [
    // Begins and ends transactions, and knows of nothing that is stored.
    "crates/server/src/store/database/",
    // Texts made of the columns of whole tables.
    "crates/server/src/store/operations/transfer/",
    // Rules of an audit, each a pair of statements with its words.
    "crates/server/src/store/operations/audit.rs",
    // Parts of declared statements, and the mistakes that are planted in their places.
    "crates/base/src/planted_bugs/",
    // Tests look at rows from outside.
    "crates/server/src/store/tests/",
    // What the store is measured beside.
    "crates/bench/",
    "crates/testkit/",
];

/// SQL outside a `statements!` block: nothing would list it for the tests that look at every statement.
pub(crate) fn undeclared_statements(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let is_looked_at = |file: &&File| {
        file.path.starts_with(CRATES)
            && file.path.contains("/src/")
            && !OTHERS.iter().any(|other| file.path.starts_with(other))
    };
    for file in tree.rust().filter(is_looked_at) {
        let declared = declarations(file);
        for at in VERBS.iter().flat_map(|verb| file.text.match_indices(verb)).map(|(at, _)| at) {
            // Inside a comment there is no literal: its mark is blanked, and so is what stands before it on the line.
            let is_comment = file.text[..at].rsplit('\n').next().is_some_and(|line| line.contains("//"));
            if !is_comment && !declared.iter().any(|(from, to)| (*from..*to).contains(&at)) {
                let why = format!("SQL stands in a `{DECLARATION} }}` block of {DECLARED_IN}");
                findings.push(file.finding(line_of(&file.text, at), why));
            }
        }
    }
    findings
}

/// Where declarations begin and end.
fn declarations(file: &File) -> Vec<(usize, usize)> {
    if !file.path.starts_with(DECLARED_IN) {
        return Vec::new();
    }
    let blocks = file.code.match_indices(DECLARATION);
    blocks.filter_map(|(at, text)| closing(&file.code, at + text.len() - 1).map(|end| (at, end))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::check;

    #[test]
    fn a_statement_that_nothing_lists_is_found() {
        let bare = "fn read() {\n    sql(\"SELECT 1 FROM t\");\n}\n";
        let declared = "statements! {\n    READ = \"SELECT 1 FROM t\";\n}\n// Not \"SELECT 2\".\n";
        check(
            undeclared_statements,
            &[
                ("crates/server/src/store/a.rs", bare),
                ("crates/server/src/store/b.rs", declared),
                ("crates/server/src/app/c.rs", declared),
                ("crates/server/src/store/tests/d.rs", bare),
            ],
            &[
                "crates/server/src/store/a.rs:2: SQL stands in a `statements! { }` block of crates/server/src/store/",
                "crates/server/src/app/c.rs:2: SQL stands in a `statements! { }` block of crates/server/src/store/",
            ],
        );
    }
}
