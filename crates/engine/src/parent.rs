//! The parent process on standard input: first the key, then nothing until the parent ends.

use std::{
    io::{self, BufRead, Read},
    thread,
};

use serde::Deserialize;
use tokio::sync::oneshot;

const KEY_LINE_BYTES_MAX: u64 = 4096;
/// 32 bytes, two digits each.
const KEY_DIGITS: usize = 64;

#[derive(Debug, thiserror::Error)]
#[error("the first line on standard input has to be {{\"key\":\"<64 hexadecimal digits>\"}}")]
pub struct KeyRejected;

#[derive(Deserialize)]
struct KeyLine {
    key: String,
}

/// Reads the key; `None` if the input ends without a line.
pub fn read_key(input: &mut impl BufRead) -> Result<Option<String>, KeyRejected> {
    let mut line = String::new();
    input.take(KEY_LINE_BYTES_MAX).read_line(&mut line).map_err(|_| KeyRejected)?;
    if line.is_empty() {
        return Ok(None);
    }
    let KeyLine { key } = serde_json::from_str(&line).map_err(|_| KeyRejected)?;
    let is_key = key.len() == KEY_DIGITS && key.bytes().all(|digit| digit.is_ascii_hexdigit());
    if is_key { Ok(Some(key)) } else { Err(KeyRejected) }
}

/// Watches for the end of the input, in a thread of its own.
pub fn watch(mut input: impl Read + Send + 'static) -> oneshot::Receiver<()> {
    let (ended, watcher) = oneshot::channel();
    thread::spawn(move || {
        // An unreadable input counts as ended.
        let _ = io::copy(&mut input, &mut io::sink());
        let _ = ended.send(());
    });
    watcher
}

#[cfg(test)]
mod tests {
    use super::read_key;

    #[test]
    fn the_first_line_is_the_key() {
        let key = "0123456789abcdef".repeat(4);
        let mut input = format!("{{\"key\": \"{key}\"}}\nmore").into_bytes();
        assert_eq!(read_key(&mut input.as_slice()).expect("a key"), Some(key));
        input.clear();
        assert_eq!(read_key(&mut input.as_slice()).expect("an end"), None);
    }

    #[test]
    fn anything_else_is_refused() {
        for line in ["{}\n", "key\n", "{\"key\":\"short\"}\n", "\n"] {
            assert!(read_key(&mut line.as_bytes()).is_err(), "{line:?}");
        }
        let wrong_digit = format!("{{\"key\":\"{}\"}}\n", "g".repeat(64));
        assert!(read_key(&mut wrong_digit.as_bytes()).is_err());
    }
}
