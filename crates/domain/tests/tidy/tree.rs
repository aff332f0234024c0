//! The files that the rules look at.

use std::{
    fmt, fs,
    path::{Path, PathBuf},
    sync::LazyLock,
};

use crate::rust::code_of;

/// Names that contain no files of the repository. `.git` is a file if the checkout is a worktree.
const FOREIGN: [&str; 3] = [".git", "overnight-data", "node_modules"];

/// A text file: its path from the root of the repository, its text, and for a Rust source its code without comments and strings.
pub(crate) struct File {
    pub(crate) path: String,
    pub(crate) text: String,
    pub(crate) code: String,
}

impl File {
    fn new(path: String, text: String) -> Self {
        let code = if path.ends_with(".rs") { code_of(&text) } else { String::new() };
        Self { path, text, code }
    }

    /// A finding on one line, counted from 1.
    pub(crate) fn finding(&self, line: usize, message: impl Into<String>) -> Finding {
        Finding::new(&self.path, line, message)
    }

    pub(crate) fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        numbered(&self.text)
    }
}

/// The lines of a text with their numbers, counted from 1.
pub(crate) fn numbered(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().map(|(index, line)| (index + 1, line))
}

pub(crate) struct Finding {
    path: String,
    line: usize,
    message: String,
}

impl Finding {
    pub(crate) fn new(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, message: message.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}: {}", self.path, self.line, self.message)
    }
}

/// All files of a repository. A file that is not UTF-8 has its path here and an empty text.
pub(crate) struct Tree {
    pub(crate) files: Vec<File>,
}

impl Tree {
    /// The repository that this test was compiled in.
    pub(crate) fn of_this_repository() -> &'static Self {
        static TREE: LazyLock<Tree> = LazyLock::new(Tree::read);
        &TREE
    }

    fn read() -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut paths = Vec::new();
        walk(&root, &mut paths);
        let mut files: Vec<File> = paths.iter().map(|path| read(&root, path)).collect();
        files.sort_by(|one, other| one.path.cmp(&other.path));
        assert!(files.len() > 100, "{} files in {}: is that the repository?", files.len(), root.display());
        Self { files }
    }

    pub(crate) fn rust(&self) -> impl Iterator<Item = &File> {
        self.files.iter().filter(|file| file.path.ends_with(".rs"))
    }

    pub(crate) fn holds(&self, path: &str) -> bool {
        let folder = format!("{path}/");
        self.files.iter().any(|file| file.path == path || file.path.starts_with(&folder))
    }

    /// Whether the path of a file, or of a folder, ends in these whole segments.
    pub(crate) fn holds_below(&self, path: &str) -> bool {
        let (ending, inner) = (format!("/{path}"), format!("/{path}/"));
        self.files.iter().any(|file| file.path.ends_with(&ending) || file.path.contains(&inner))
    }
}

fn walk(folder: &Path, paths: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder of the repository can be listed") {
        let path = entry.expect("an entry can be read").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if FOREIGN.contains(&name.as_str()) {
            continue;
        }
        if !path.is_dir() {
            paths.push(path);
        } else if !name.starts_with("target") {
            walk(&path, paths);
        }
    }
}

fn read(root: &Path, path: &Path) -> File {
    let inner = path.strip_prefix(root).expect("a file below the root");
    let bytes = fs::read(path).unwrap_or_default();
    File::new(inner.to_string_lossy().into_owned(), String::from_utf8(bytes).unwrap_or_default())
}

/// Runs a rule on an invented repository and compares its findings, each as `path:line: message`.
#[track_caller]
pub(crate) fn check(rule: fn(&Tree) -> Vec<Finding>, files: &[(&str, &str)], expected: &[&str]) {
    let files = files.iter().map(|(path, text)| File::new((*path).into(), (*text).into())).collect();
    let found: Vec<String> = rule(&Tree { files }).iter().map(ToString::to_string).collect();
    assert_eq!(found, expected);
}
