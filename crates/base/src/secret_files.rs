//! Files that contain a secret, or a URL with one: as editors and Kubernetes write them, with a line break at the end.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

const BYTES_MAX: u64 = 64 << 10;

/// The content without surrounding white space and a byte order mark. Fails with the end of a sentence.
pub fn read(path: &Path) -> Result<String, String> {
    let cannot = |error: io::Error| format!("cannot be read: {error}");
    // Opening a pipe would block until its writer comes.
    if !fs::metadata(path).map_err(cannot)?.is_file() {
        return Err("is no regular file".to_owned());
    }
    let mut bytes = Vec::new();
    File::open(path).and_then(|file| file.take(BYTES_MAX + 1).read_to_end(&mut bytes)).map_err(cannot)?;
    if bytes.len() as u64 > BYTES_MAX {
        return Err(format!("is longer than {} KiB", BYTES_MAX >> 10));
    }
    let text = String::from_utf8(bytes).map_err(|_| "is not text in UTF-8")?;
    match text.trim_start_matches('\u{feff}').trim() {
        "" => Err("is empty".to_owned()),
        text if text.contains('\0') => Err("has a NUL byte".to_owned()),
        text => Ok(text.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_read_from_a_short_regular_file_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        assert!(read(&path).unwrap_err().starts_with("cannot be read: "));
        assert_eq!(read(folder.path()).unwrap_err(), "is no regular file");
        fs::write(&path, "k".repeat(64 << 10)).unwrap();
        assert_eq!(read(&path).unwrap().len(), 64 << 10);
        fs::write(&path, " ".repeat((64 << 10) + 1)).unwrap();
        assert_eq!(read(&path).unwrap_err(), "is longer than 64 KiB");
    }

    #[test]
    fn secret_is_trimmed_and_a_file_without_one_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        for (bytes, wanted) in [
            (&b"secret\n"[..], Ok("secret")),
            (b"\xef\xbb\xbf  two words\r\n\n", Ok("two words")),
            (b"\t\n", Err("is empty")),
            (b"\xef\xbb\xbf\n", Err("is empty")),
            (b"", Err("is empty")),
            (b"se\0cret", Err("has a NUL byte")),
            (b"s\0e\0", Err("has a NUL byte")),
            (b"\xff\xfes\0", Err("is not text in UTF-8")),
        ] {
            fs::write(&path, bytes).unwrap();
            assert_eq!(read(&path), wanted.map(str::to_owned).map_err(str::to_owned), "{bytes:?}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_pipe_that_nobody_writes_into_is_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        let mode = rustix::fs::Mode::RWXU;
        rustix::fs::mkfifoat(rustix::fs::CWD, &path, mode).unwrap();
        assert_eq!(read(&path).unwrap_err(), "is no regular file");
    }
}
