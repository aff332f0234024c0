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
