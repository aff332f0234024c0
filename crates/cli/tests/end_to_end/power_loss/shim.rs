//! The library between the program and the C library.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// Compiled once for all tests of this process.
fn library() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/power_loss/shim.c");
        let library =
            Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("io-shim-{}.so", std::process::id()));
        let mut compiler = Command::new("cc");
        compiler
            .args(["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-O2", "-shared", "-fPIC", "-o"])
            .arg(&library);
        assert!(compiler.arg(source).args(["-ldl", "-lpthread"]).status().unwrap().success());
        library
    })
}

/// The n-th call of a kind fails.
#[derive(Debug, Clone, Copy)]
pub(super) struct FailingCall {
    /// `open`, `write` or `sync`.
    pub(super) call: &'static str,
    /// The number of the call, from 1.
    pub(super) number: usize,
    /// The errno; 0 for a write of half of its bytes.
    pub(super) error: i32,
}

/// Makes a command log its changes below `folder`, and fail at a call.
pub(super) fn put_before(command: &mut Command, folder: &Path, log: &Path, failing: Option<FailingCall>) {
    command.env("LD_PRELOAD", library()).env("IO_SHIM_FOLDER", folder).env("IO_SHIM_LOG", log);
    if let Some(FailingCall { call, number, error }) = failing {
        command.env("IO_SHIM_FAIL", format!("{call}:{number}:{error}"));
    }
}
