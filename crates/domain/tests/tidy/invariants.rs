//! Tests show guarantees: the document names them, and they exist.

use crate::{
    items::functions,
    tree::{File, Finding, Tree},
};

const GUARANTEES: &str = "docs/guarantees.md";
const INVARIANTS: &str = "## What always holds";
const SHOWN_BY: &str = "Shown by ";

/// Guarantees that name no test, and names of tests that do not exist.
pub(crate) fn unshown_invariants(tree: &Tree) -> Vec<Finding> {
    let Some(file) = tree.files.iter().find(|file| file.path == GUARANTEES) else { return Vec::new() };
    let tests = names_of_tests(tree);
    let mut findings = Vec::new();
    for block in blocks(file) {
        let Some((_, shown_by)) = block.text.split_once(SHOWN_BY) else {
            if block.is_invariant {
                findings.push(file.finding(block.line, "this invariant names no test"));
            }
            continue;
        };
        for name in
            shown_by.split('`').skip(1).step_by(2).filter(|name| !tests.iter().any(|test| test == name))
        {
            findings.push(file.finding(block.line, format!("no test is called `{name}`")));
        }
    }
    if !blocks(file).iter().any(|block| block.is_invariant) {
        findings.push(file.finding(1, format!("the numbered list under `{INVARIANTS}` is missing")));
    }
    findings
}

/// A paragraph, or an item of a numbered list.
struct Block {
    line: usize,
    text: String,
    is_invariant: bool,
}

fn blocks(file: &File) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut heading = "";
    let mut is_open = false;
    for (line, text) in file.lines() {
        if text.starts_with("## ") {
            heading = text;
        }
        let number = text.split_once(". ").map_or("", |(number, _)| number);
        let is_item = !number.is_empty() && number.chars().all(|character| character.is_ascii_digit());
        match blocks.last_mut() {
            Some(block) if is_open && !is_item => block.text = format!("{} {}", block.text, text.trim()),
            _ => {
                let is_invariant = is_item && heading == INVARIANTS;
                blocks.push(Block { line, text: text.to_owned(), is_invariant });
            }
        }
        is_open = !text.trim().is_empty();
    }
    blocks
}

fn names_of_tests(tree: &Tree) -> Vec<String> {
    let mut names = Vec::new();
    for file in tree.rust() {
        let code = &file.code;
        let lines: Vec<&str> = code.lines().collect();
        let on_both = lines.iter().filter_map(|line| line.strip_prefix("on_both!(")?.strip_suffix(");"));
        names.extend(on_both.map(|name| name.trim_end_matches(", no audit").to_owned()));
        for function in functions(code) {
            let above = lines[..function.first_line - 1].iter().rev();
            let mut attributes =
                above.take_while(|line| line.trim().is_empty() || line.trim().starts_with("#["));
            if attributes.any(|line| line.contains("test")) {
                names.push(function.name.to_owned());
            }
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::check;

    #[test]
    fn an_invariant_without_a_test_is_found() {
        let document = "\
# Architecture\n\
## What always holds\n\
1. Nothing is lost. Shown by `nothing_is_lost`,\n   `nothing_is_found`, `nothing_is_twice`.\n\
2. Nothing is charged.\n\
\n\
Then `words`.\n\
## Else\n\
1. Not an invariant. Shown by `nothing_is_lost` and\n   `something_else`.\n";
        let source = "#[tokio::test(flavor = \"current_thread\")]\nasync fn nothing_is_lost() {}\nfn nothing_is_found() {}\non_both!(nothing_is_twice);\n";
        check(
            unshown_invariants,
            &[("docs/guarantees.md", document), ("crates/a/tests/it.rs", source)],
            &[
                "docs/guarantees.md:3: no test is called `nothing_is_found`",
                "docs/guarantees.md:5: this invariant names no test",
                "docs/guarantees.md:9: no test is called `something_else`",
            ],
        );
    }
}
