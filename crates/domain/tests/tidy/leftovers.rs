//! What must not stay in the repository: unfinished work, and names of somebody's machine.

use crate::tree::{Finding, Tree, numbered};

/// Macros of unfinished code.
const UNFINISHED_CODE: [&str; 3] = [concat!("todo", "!"), concat!("unimplemented", "!"), concat!("dbg", "!")];
/// Words of unfinished text.
const UNFINISHED_TEXT: [&str; 3] = [concat!("FIX", "ME"), concat!("TO", "DO"), concat!("#[ign", "ore")];

/// Paths and names of the machines on which this is written. They mean nothing to readers of the repository.
const WORKSHOP: [&str; 9] = [
    concat!("/wo", "rk/"),
    concat!("/ro", "ot/"),
    concat!("/ho", "me/"),
    concat!("/fa", "rm/"),
    concat!("fa", "rm-"),
    concat!(".lib", "rary/"),
    concat!("sub", "agent"),
    concat!("before", "-stop"),
    concat!("clau", "de"),
];

pub(crate) fn unfinished_code(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.rust() {
        for (line, code) in numbered(&file.code) {
            for word in UNFINISHED_CODE.iter().filter(|word| code.contains(**word)) {
                findings.push(file.finding(line, format!("`{word}` is left")));
            }
        }
    }
    for file in &tree.files {
        for (line, text) in file.lines() {
            for word in UNFINISHED_TEXT.iter().filter(|word| text.contains(**word)) {
                findings.push(file.finding(line, format!("`{word}` is left")));
            }
        }
    }
    findings
}

/// Names of the workshop, which do not belong into the product.
pub(crate) fn workshop_words(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in &tree.files {
        for (line, text) in file.lines() {
            let lower = text.to_lowercase();
            for word in WORKSHOP.iter().filter(|word| lower.contains(**word)) {
                findings.push(file.finding(line, format!("`{word}` belongs to somebody's machine")));
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
    fn unfinished_code_is_found_and_talk_of_it_is_not() {
        let [macro_word, ..] = UNFINISHED_CODE;
        let [text_word, ..] = UNFINISHED_TEXT;
        let text =
            format!("// Never {macro_word}()\nfn later() {{\n    {macro_word}()\n}}\n// {text_word}: soon\n");
        check(
            unfinished_code,
            &[("a.rs", &text)],
            &[&format!("a.rs:3: `{macro_word}` is left"), &format!("a.rs:5: `{text_word}` is left")],
        );
    }

    #[test]
    fn a_path_of_this_machine_is_found() {
        let [word, ..] = WORKSHOP;
        let text = format!("See\n{word}notes.\n");
        check(
            workshop_words,
            &[("a.md", &text)],
            &[&format!("a.md:2: `{word}` belongs to somebody's machine")],
        );
    }
}
