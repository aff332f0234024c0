//! A schema that is created once for all tests of a process and then copied: creating it takes most of the time of a short test.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::thread;

use tempfile::TempDir;
use tokio::runtime::Builder;

/// Puts a file with a schema into a folder, unless it has a file of this name. The first call runs `migrate` in another folder, in its own
/// thread and runtime; a panic of `migrate` is passed on.
pub fn put_file<F: Future<Output = ()>>(
    folder: &Path,
    name: &str,
    migrate: impl FnOnce(PathBuf) -> F + Send,
) -> io::Result<()> {
    static TEMPLATE: OnceLock<TempDir> = OnceLock::new();
    let template = TEMPLATE.get_or_init(|| {
        let template = tempfile::tempdir().expect("a folder");
        make(|| migrate(template.path().to_owned()));
        template
    });
    let file = folder.join(name);
    if !file.exists() {
        fs::copy(template.path().join(name), file)?;
    }
    Ok(())
}

/// Runs `migrate` in its own thread and runtime, and waits for it, also within a runtime.
pub(crate) fn make<F: Future<Output = ()>>(migrate: impl FnOnce() -> F + Send) {
    let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
    thread::scope(|scope| scope.spawn(move || runtime.block_on(migrate())).join()).expect("a schema");
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[tokio::test]
    async fn a_file_is_made_once_and_replaces_none() {
        let made = AtomicU32::new(0);
        let migrate = async |folder: PathBuf| {
            made.fetch_add(1, Ordering::Relaxed);
            fs::write(folder.join("schema"), b"made").unwrap();
        };
        for _ in 0..2 {
            let folder = tempfile::tempdir().unwrap();
            put_file(folder.path(), "schema", migrate).unwrap();
            assert_eq!(fs::read(folder.path().join("schema")).unwrap(), b"made");
            fs::write(folder.path().join("schema"), b"changed").unwrap();
            put_file(folder.path(), "schema", migrate).unwrap();
            assert_eq!(fs::read(folder.path().join("schema")).unwrap(), b"changed");
        }
        assert_eq!(made.load(Ordering::Relaxed), 1);
    }
}
