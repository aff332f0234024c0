//! A part of the input: the position and sum of each of its lines, but no bodies.

use std::io::{self, BufReader, Read};

use overnight_domain::json::{self, ObjectWriter};
use overnight_tables::{Cursor, SharedFile};
use overnight_wire::prompts::Shape;
use sha2::{Digest, Sha256};

use crate::errors::CliError;

/// Consecutive lines of a known shape.
#[derive(Debug)]
pub(crate) struct Prompts {
    pub(super) name: String,
    pub(super) file: SharedFile,
    /// Replaces the model of each line.
    pub(super) model: Option<String>,
    pub(super) first: usize,
    /// "line" or "row".
    pub(super) word: &'static str,
    pub(super) lines: Vec<Line>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Line {
    pub(crate) shape: Shape,
    /// The SHA-256 of its text, without surrounding white space, and of the model that replaces its own.
    pub(crate) sha256: [u8; 32],
    pub(super) offset: u64,
    pub(super) bytes: usize,
}

impl Prompts {
    /// The identity of a line, which depends on the model.
    pub(super) fn sum(line: &[u8], model: Option<&str>) -> [u8; 32] {
        let sum = Sha256::new_with_prefix(line);
        let sum = model.iter().fold(sum, |sum, model| sum.chain_update([b'\n']).chain_update(model));
        sum.finalize().into()
    }

    pub(crate) fn lines(&self) -> &[Line] {
        &self.lines
    }

    /// The number of lines before this part.
    pub(crate) const fn first(&self) -> usize {
        self.first
    }

    /// The name of a line: `line 7` of a file, `row 7` of a table.
    pub(crate) fn name_of(&self, index: usize) -> String {
        format!("{} {}", self.word, self.first + index + 1)
    }

    pub(crate) fn reader(&self) -> Reader<'_> {
        Reader { prompts: self, file: self.file.cursor(), at: 0 }
    }
}

/// Reads lines again; fastest in order.
pub(crate) struct Reader<'a> {
    prompts: &'a Prompts,
    file: BufReader<Cursor>,
    at: u64,
}

impl Reader<'_> {
    /// The body of Create Request for a line. Fails if the file cannot be read or has changed since the check.
    pub(crate) fn create_body(&mut self, index: usize) -> Result<Vec<u8>, CliError> {
        let Prompts { name, model, lines, .. } = self.prompts;
        let line = lines[index];
        let mut text = vec![0; line.bytes];
        let read = self.read(line.offset, &mut text);
        let text = text.trim_ascii();
        match read {
            Ok(()) if Prompts::sum(text, model.as_deref()) == line.sha256 => {
                let body = line.shape.create_body(text).map_err(CliError::unusable)?;
                match model {
                    Some(model) => with_model(&body, model),
                    None => Ok(body),
                }
            }
            Err(error) if error.kind() != io::ErrorKind::UnexpectedEof => {
                Err(CliError::unusable(format!("{name}: {error}")))
            }
            _ => Err(CliError::unusable(format!("{name} was changed while it was read"))),
        }
    }

    /// Seeks within the buffer if possible.
    fn read(&mut self, offset: u64, text: &mut [u8]) -> io::Result<()> {
        let by = i64::try_from(offset).and_then(|to| i64::try_from(self.at).map(|at| to - at));
        self.file.seek_relative(by.map_err(io::Error::other)?)?;
        self.at = offset;
        self.file.read_exact(text)?;
        self.at += text.len() as u64;
        Ok(())
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
