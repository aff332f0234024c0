//! The codes of faults are named in one place.

use crate::rust::{closing, line_of};
use crate::tree::{File, Finding, Tree};

const FOLDERS: [&str; 3] = ["crates/domain/src/", "crates/app/src/", "crates/http/src/"];
/// Calls that record a fault: path, code, message.
const NOTES: [&str; 2] = ["AppError::invalid(", "faults.push("];
/// How a fault is written.
const FIELD: &str = " code: ";

/// Codes written out instead of named by `faults::codes`.
pub(crate) fn bare_codes(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.rust().filter(|file| FOLDERS.iter().any(|folder| file.path.starts_with(folder))) {
        let notes = NOTES.iter().flat_map(|note| file.code.match_indices(note));
        let second = |(at, note): (usize, &str)| second_argument(&file.code, at + note.len() - 1);
        let fields = file.code.match_indices(FIELD).map(|(at, field)| at + field.len());
        for at in notes.filter_map(second).chain(fields).filter_map(|at| literal_at(file, at)) {
            let line = line_of(&file.text, at);
            findings.push(file.finding(line, "a code of faults has its name in `faults::codes`"));
        }
    }
    findings
}

/// Where the second argument begins in the call whose bracket is at `open`.
fn second_argument(code: &str, open: usize) -> Option<usize> {
    let end = closing(code, open)?;
    let mut at = open + 1;
    while at < end {
        match code.as_bytes()[at] {
            b'(' | b'[' | b'{' => at = closing(code, at)?,
            b',' => return Some(at + 1),
            _ => {}
        }
        at += 1;
    }
    None
}

/// The position of the next string, if it is written out.
fn literal_at(file: &File, at: usize) -> Option<usize> {
    let next = file.text[at..].find(|character: char| !character.is_whitespace())?;
    file.text[at + next..].starts_with('"').then_some(at + next)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::check;

    #[test]
    fn a_code_that_is_written_out_is_found_and_one_by_its_name_is_not() {
        let text = "\
fn check() {
    // AppError::invalid(\"a\", \"b\", \"c\")
    let one = AppError::invalid(\"email\", \"conflict\", \"is somebody's already\");
    let two = AppError::invalid(\"email\", codes::CONFLICT, \"is somebody's already\");
    faults.push(
        format_args!(\"{}, {}\", f(1, 2), 3),
        \"missing\",
        \"is required\",
    );
    Fault { param, code: \"missing\", message };
    Fault { param, code: codes::MISSING, message };
}
";
        let said = "a code of faults has its name in `faults::codes`";
        let found = [3, 7, 10].map(|line| format!("crates/app/src/a.rs:{line}: {said}"));
        let files = [("crates/app/src/a.rs", text), ("crates/cli/src/b.rs", text)];
        check(bare_codes, &files, &found.each_ref().map(String::as_str));
    }
}
