//! Maximum sizes of files and functions.

use crate::{
    items::functions,
    tree::{Finding, Tree},
};

const FILE_LINES_MAX: usize = 400;
/// Exempt: operators read all settings in one file, and the whole schema of the first release is one.
const WHOLES: [&str; 2] = ["overnight.default.toml", "_schema.sql"];
const FUNCTION_LINES_MAX: usize = 70;
const CODE_ENDINGS: [&str; 9] = [".rs", ".py", ".sh", ".sql", ".html", ".css", ".js", ".ts", ".toml"];

pub(crate) fn long_files(tree: &Tree) -> Vec<Finding> {
    let code = tree.files.iter().filter(|file| CODE_ENDINGS.iter().any(|ending| file.path.ends_with(ending)));
    code.filter_map(|file| {
        let lines = file.text.lines().count();
        let message = format!("{lines} lines, of at most {FILE_LINES_MAX}: split it by meaning");
        (lines > FILE_LINES_MAX && !WHOLES.iter().any(|whole| file.path.ends_with(whole)))
            .then(|| file.finding(FILE_LINES_MAX + 1, message))
    })
    .collect()
}

/// Functions over the limit, from the signature to the closing brace.
pub(crate) fn long_functions(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.rust() {
        for function in functions(&file.code) {
            let lines = function.last_line - function.first_line + 1;
            if lines > FUNCTION_LINES_MAX {
                let message =
                    format!("`{}` has {lines} lines, of at most {FUNCTION_LINES_MAX}", function.name);
                findings.push(file.finding(function.first_line, message));
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
    fn a_file_of_401_lines_is_found() {
        let (long, short) = ("\n".repeat(401), "\n".repeat(400));
        check(
            long_files,
            &[("a.rs", &long), ("b.rs", &short), ("c.md", &long), ("0041_schema.sql", &long)],
            &["a.rs:401: 401 lines, of at most 400: split it by meaning"],
        );
    }

    #[test]
    fn a_function_of_71_lines_is_found_whatever_its_strings_hold() {
        let of = |name: &str, inside: usize| {
            format!("    fn {name}(self) -> &'static [u8; 2] {{\n{}    }}\n", "    // }\n".repeat(inside))
        };
        let text = format!(
            "const BRACE: &str = \"}}\";\ntrait A {{\n    fn short(&self);\n{}{}}}\n",
            of("just", 68),
            of("long", 69)
        );
        check(long_functions, &[("a.rs", &text)], &["a.rs:74: `long` has 71 lines, of at most 70"]);
    }
}
