//! The built-in model: compiled in, and written to the data folder for the child to load.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use overnight_base::private_files;

const BYTES: &[u8] = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../assets/overnight-tiny.gguf"));

pub(super) fn path_in(data_dir: &Path) -> PathBuf {
    data_dir.join("models").join("overnight-tiny.gguf")
}

/// Writes it to `path`, unless the same bytes are there already. A reader sees a whole file or none.
pub(super) fn place(path: &Path) -> io::Result<()> {
    if fs::read(path).is_ok_and(|found| found == BYTES) {
        return Ok(());
    }
    fs::create_dir_all(private_files::folder_of(path))?;
    private_files::replace(path, BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_small_and_a_model() {
        assert!(BYTES.starts_with(b"GGUF") && BYTES.len() < 2 << 20);
    }

    #[test]
    fn it_is_written_where_absent_or_different_and_left_alone_otherwise() {
        let folder = tempfile::tempdir().unwrap();
        let path = path_in(folder.path());
        place(&path).unwrap();
        assert_eq!(fs::read(&path).unwrap(), BYTES);
        let written_at = fs::metadata(&path).unwrap().modified().unwrap();
        place(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().modified().unwrap(), written_at);
        fs::write(&path, b"cut").unwrap();
        place(&path).unwrap();
        assert_eq!(fs::read(&path).unwrap(), BYTES);
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    }
}
