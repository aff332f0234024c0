//! Reading the file line by line: bounded, counted and hashed.

use std::io::{BufRead, Read};

use sha2::{Digest, Sha256};

use crate::error::{StoreError, Trouble};
use crate::operations::transfer::errors::ImportError;

/// A file that is no export is not read to its end.
const FIRST_LINE_BYTES_MAX: u64 = 1 << 10;

/// A database value has at most 1 GiB, and each byte at most two here.
const LINE_BYTES_MAX: u64 = (2 << 30) + (1 << 20);

pub(super) struct Lines<'a> {
    input: &'a mut (dyn BufRead + Send),
    line: Vec<u8>,
    number: u64,
    digest: Sha256,
}

impl<'a> Lines<'a> {
    pub(super) fn new(input: &'a mut (dyn BufRead + Send)) -> Self {
        Self { input, line: Vec::new(), number: 0, digest: Sha256::new() }
    }

    /// Without its end. There must be one: a complete file marks its last line.
    pub(super) fn next(&mut self) -> Result<&[u8], ImportError> {
        self.digest.update(&self.line);
        self.line.clear();
        let bytes_max = if self.number == 0 { FIRST_LINE_BYTES_MAX } else { LINE_BYTES_MAX };
        self.number += 1;
        (&mut *self.input).take(bytes_max).read_until(b'\n', &mut self.line)?;
        match self.line.split_last() {
            Some((b'\n', line)) => Ok(line),
            _ => Err(ImportError::Cut { line: self.number }),
        }
    }

    /// A fault of the line read last.
    pub(super) fn fault(&self, what: &str) -> ImportError {
        ImportError::Line { line: self.number, what: what.to_owned() }
    }

    /// The database's error about the rows read last.
    pub(super) fn blame(&self, error: StoreError) -> ImportError {
        match error.trouble() {
            Trouble::Constraint => {
                self.fault(&format!("the store refused this row or one shortly before: {error}"))
            }
            _ => error.into(),
        }
    }

    /// SHA-256 of all lines before the one read last, which must be the file's last.
    pub(super) fn finish(mut self) -> Result<String, ImportError> {
        if self.input.fill_buf()?.is_empty() {
            return Ok(hex(&self.digest.finalize()));
        }
        self.number += 1;
        Err(self.fault("there is more behind the end"))
    }
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
