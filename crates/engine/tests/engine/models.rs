//! Model files that are made for a test.

use std::{env, fs, io::Write, path::PathBuf, process, process::Stdio};

use serde_json::json;

use crate::support::{KEY, command};

/// A model file, which goes with this value.
pub(crate) struct Model(PathBuf);

impl Model {
    pub(crate) fn new(name: &str, bytes: &[u8]) -> Self {
        let path = env::temp_dir().join(format!("overnight-engine-{name}-{}.gguf", process::id()));
        fs::write(&path, bytes).expect("a file");
        Self(path)
    }

    /// A copy of a file, in which other bytes follow each of some keys of its metadata, after the type or a part of the value.
    pub(crate) fn changed(name: &str, original: &str, changes: &[(&str, usize, &[u8])]) -> Self {
        let mut file = fs::read(original).expect("the model");
        for (key, distance, bytes) in changes {
            let found = file.windows(key.len()).position(|found| found == key.as_bytes());
            let at = found.expect("the key") + key.len() + distance;
            file[at..at + bytes.len()].copy_from_slice(bytes);
        }
        Self::new(name, &file)
    }

    /// A copy of a file whose tokenizer finds words with regular expressions (BLOOM's), with a context of 65,536 tokens.
    pub(crate) fn with_regular_expressions(name: &str, original: &str, architecture: &str) -> Self {
        let context = (&*format!("{architecture}.context_length"), 4, &65_536_u32.to_le_bytes()[..]);
        Self::changed(name, original, &[context, ("tokenizer.ggml.pre", 12, b"bloom")])
    }

    pub(crate) fn path(&self) -> &str {
        self.0.to_str().expect("a path in UTF-8")
    }

    /// The exit code of an engine that cannot use it, and its log.
    pub(crate) fn refusal(&self) -> (Option<i32>, String) {
        let mut child = command(self.path(), &[]).stderr(Stdio::piped()).spawn().expect("the engine starts");
        writeln!(child.stdin.as_mut().expect("a pipe"), "{}", json!({ "key": KEY }))
            .expect("the key is taken");
        let stdin = child.stdin.take();
        let output = child.wait_with_output().expect("an end");
        drop(stdin);
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        fs::remove_file(&self.0).expect("the file goes");
    }
}
