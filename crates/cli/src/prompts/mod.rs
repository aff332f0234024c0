//! The file of prompts: one request a line, read twice. First every line is checked and remembered by its place and
//! its SHA-256; then each is read again when its turn comes, so that memory holds no bodies.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use overnight_client::LINE_BYTES_MAX;
use overnight_domain::json::{self, ObjectWriter};
pub(crate) use overnight_wire::prompts::Shape;
use sha2::{Digest, Sha256};

use crate::errors::CliError;

const BUFFER_BYTES: usize = 256 << 10;

/// How many bad lines are told of, each in a line of its own.
const FAULTS_SHOWN: usize = 20;

/// A file whose lines are all of a known shape.
#[derive(Debug)]
pub(crate) struct Prompts {
    path: PathBuf,
    /// Asked instead of the model of each line.
    model: Option<String>,
    lines: Vec<Line>,
}

/// One line, without its text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Line {
    /// What it is.
    pub(crate) shape: Shape,
    /// The SHA-256 of its text, without white space around it, and of the model that is asked instead of its own.
    pub(crate) sha256: [u8; 32],
    offset: u64,
    bytes: usize,
}

impl Prompts {
    /// Checks every line of the file. Empty lines at its end are no lines.
    ///
    /// # Errors
    /// A file that cannot be read, holds nothing, or has bad lines: then all of them are told.
    pub(crate) fn scan(path: &Path, model: Option<String>) -> Result<Self, CliError> {
        let failed = |error| CliError::file(path, &error);
        let mut reader = open(path).map_err(failed)?;
        let mut prompts = Self { path: path.to_owned(), model, lines: Vec::new() };
        let mut faults = Faults::default();
        let (mut text, mut offset, mut number) = (Vec::new(), 0, 0);
        let mut blank = Vec::new();
        loop {
            text.clear();
            let bytes = read_line(&mut reader, &mut text).map_err(failed)?;
            if bytes == 0 {
                break;
            }
            number += 1;
            let line = text.trim_ascii();
            if line.is_empty() {
                blank.push(number);
            } else {
                blank.drain(..).for_each(|number| faults.push(number, "is empty"));
                match Shape::of(line) {
                    Ok(shape) => {
                        let sha256 = prompts.sum(line);
                        prompts.lines.push(Line { shape, sha256, offset, bytes });
                    }
                    Err(fault) => faults.push(number, &fault),
                }
            }
            offset += bytes as u64;
        }
        faults.check(path)?;
        match prompts.lines.len() {
            0 => Err(CliError::unusable(format!("{} holds no requests", path.display()))),
            _ => Ok(prompts),
        }
    }

    /// What tells a line from others: asked of another model it is another one.
    fn sum(&self, line: &[u8]) -> [u8; 32] {
        let sum = Sha256::new_with_prefix(line);
        let sum = self.model.iter().fold(sum, |sum, model| sum.chain_update([b'\n']).chain_update(model));
        sum.finalize().into()
    }

    /// The lines, in order. Line 1 of the file is at 0.
    pub(crate) fn lines(&self) -> &[Line] {
        &self.lines
    }

    /// Where the file is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Opens the file to read lines again.
    pub(crate) fn reader(&self) -> Result<Reader<'_>, CliError> {
        let file = open(&self.path).map_err(|error| CliError::file(&self.path, &error))?;
        Ok(Reader { prompts: self, file })
    }
}

/// Reads lines again; fastest in order.
pub(crate) struct Reader<'a> {
    prompts: &'a Prompts,
    file: BufReader<File>,
}

impl Reader<'_> {
    /// The body of Create Request for a line.
    ///
    /// # Errors
    /// A file that cannot be read or is no longer what was checked.
    pub(crate) fn create_body(&mut self, index: usize) -> Result<Vec<u8>, CliError> {
        let path = &self.prompts.path;
        let line = self.prompts.lines[index];
        let mut text = vec![0; line.bytes];
        let read = seek(&mut self.file, line.offset).and_then(|()| self.file.read_exact(&mut text));
        let text = text.trim_ascii();
        match read {
            Ok(()) if self.prompts.sum(text) == line.sha256 => {
                let body = line.shape.create_body(text).map_err(CliError::unusable)?;
                match &self.prompts.model {
                    Some(model) => with_model(&body, model),
                    None => Ok(body),
                }
            }
            Err(error) if error.kind() != io::ErrorKind::UnexpectedEof => Err(CliError::file(path, &error)),
            _ => Err(CliError::unusable(format!("{} was changed while it was read", path.display()))),
        }
    }
}

/// The body of Create Request with another model.
fn with_model(body: &[u8], model: &str) -> Result<Vec<u8>, CliError> {
    let text =
        json::minimize(body, 0).map_err(|error| CliError::unusable(format!("a line is no JSON: {error}")))?;
    let mut create = ObjectWriter::with_capacity(text.as_str().len() + model.len());
    for member in text.as_json().members().into_iter().flatten() {
        match member.value.members() {
            Some(members) if member.key() == "request_body" => {
                let mut chat = ObjectWriter::with_capacity(text.as_str().len() + model.len());
                chat.string("model", model);
                members
                    .filter(|member| member.key() != "model")
                    .for_each(|it| chat.copy(it.raw_key, it.value));
                create.json("request_body", chat.finish().as_json());
            }
            _ => create.copy(member.raw_key, member.value),
        }
    }
    Ok(create.finish().into_string().into_bytes())
}

/// Moves within what is buffered where it can.
fn seek(file: &mut BufReader<File>, offset: u64) -> io::Result<()> {
    let at = file.stream_position()?;
    match i64::try_from(offset).and_then(|to| i64::try_from(at).map(|at| to - at)) {
        Ok(by) => file.seek_relative(by),
        Err(_) => file.seek(SeekFrom::Start(offset)).map(|_| ()),
    }
}

fn open(path: &Path) -> io::Result<BufReader<File>> {
    File::open(path).map(|file| BufReader::with_capacity(BUFFER_BYTES, file))
}

/// Reads a line with its end; 0 bytes at the end of the file.
fn read_line(reader: &mut impl BufRead, text: &mut Vec<u8>) -> io::Result<usize> {
    let bytes = reader.take(LINE_BYTES_MAX as u64 + 1).read_until(b'\n', text)?;
    if bytes > LINE_BYTES_MAX {
        return Err(io::Error::other(format!("a line is longer than {LINE_BYTES_MAX} bytes")));
    }
    Ok(bytes)
}

/// The bad lines.
#[derive(Debug, Default)]
struct Faults {
    shown: Vec<String>,
    total: usize,
}

impl Faults {
    fn push(&mut self, number: usize, fault: &str) {
        self.total += 1;
        if self.shown.len() < FAULTS_SHOWN {
            self.shown.push(format!("\n  line {number} {fault}"));
        }
    }

    fn check(self, path: &Path) -> Result<(), CliError> {
        let lines = match self.total {
            0 => return Ok(()),
            1 => "1 bad line".to_owned(),
            total => format!("{total} bad lines"),
        };
        let more = match self.total - self.shown.len() {
            0 => String::new(),
            more => format!("\n  and {more} more"),
        };
        let message =
            format!("{} has {lines}; nothing was sent{}{more}", path.display(), self.shown.concat());
        Err(CliError::unusable(message).with_hint(
            "a line is {\"request_body\": {…}}, an OpenAI batch line, or a chat body {\"model\", \"messages\"}",
        ))
    }
}

#[cfg(test)]
mod tests;
