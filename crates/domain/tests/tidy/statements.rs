//! Where SQL may be written.

use crate::rust::{closing, line_of};
use crate::tree::{File, Finding, Tree};

const CRATES: &str = "crates/";
const DECLARED_IN: &str = "crates/store/src/";
/// How statements begin, behind a quotation mark.
const VERBS: [&str; 6] =
    ["\"SELECT ", "\"INSERT INTO ", "\"UPDATE ", "\"DELETE FROM ", "\"WITH ", "\"WITH RECURSIVE "];
const DECLARATION: &str = "statements! {";

/// Files about connections, transactions and schemas, or that build statements from a list of columns, and files outside the service. Each
/// has a reason.
const OTHERS: [&str; 7] = [
    // Begins and ends transactions, and knows no stored data.
    "crates/store/src/database/",
    // Builds texts from the columns of whole tables.
    "crates/store/src/operations/transfer/",
    // Rules of an audit, each a pair of statements with its description.
    "crates/store/src/operations/audit.rs",
    // Parts of declared statements, and the mistakes planted in their places.
    "crates/base/src/planted_bugs/",
    // Tests look at rows from outside.
    "crates/store/src/tests/",
    // Databases with which the store is compared.
    "crates/bench/",
    "crates/testkit/",
];

/// SQL outside a `statements!` block is not listed for the tests that look at every statement.
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
            // A comment contains no literal: its mark is blanked, and so is everything before it on the line.
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
                ("crates/store/src/a.rs", bare),
                ("crates/store/src/b.rs", declared),
                ("crates/app/src/c.rs", declared),
                ("crates/store/src/tests/d.rs", bare),
            ],
            &[
                "crates/store/src/a.rs:2: SQL stands in a `statements! { }` block of crates/store/src/",
                "crates/app/src/c.rs:2: SQL stands in a `statements! { }` block of crates/store/src/",
            ],
        );
    }
}
