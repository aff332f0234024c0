//! The whole input: checked completely before anything is sent, then read again part by part, so that memory holds one part.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::sync::Arc;

use overnight_tables::{Columns, Compression, Format, Kind, Rows, SharedFile};
use overnight_wire::prompts::Shape;
use sha2::{Digest, Sha256};

use super::asking::Asking;
use super::faults::Faults;
use super::guess::advice;
use super::part::{Line, Prompts};
use super::source::Source;
use super::texts::{Text, TextFault, Texts};
use crate::errors::CliError;

const BUFFER_BYTES: usize = 256 << 10;

const HINT_LINES: &str =
    "a line is {\"request_body\": {…}}, an OpenAI batch line, or a chat body {\"model\", \"messages\"}";
const HINT_ROWS: &str = "a row has a value for each column, and each column that the template names";

#[derive(Debug)]
pub(crate) struct Input {
    source: Source,
    /// Replaces the model of each line.
    model: Option<String>,
    asking: Option<Asking>,
    columns: Columns,
    part_lines: usize,
    parts: Vec<Checked>,
}

/// A part's state when it was checked.
#[derive(Debug, Clone, Copy)]
struct Checked {
    lines: usize,
    sum: [u8; 32],
}

pub(crate) struct Parts<'a> {
    input: &'a Input,
    texts: Texts<'a>,
    place: usize,
}

impl Input {
    /// Checks every line, or that every row makes a request. Trailing empty lines are ignored. Fails if the input is unreadable or empty,
    /// or lists all its bad lines.
    pub(crate) fn check(
        source: Source,
        asking: Option<Asking>,
        model: Option<String>,
        part_lines: usize,
    ) -> Result<Self, CliError> {
        let (mut columns, mut faults) = (Columns::default(), Faults::default());
        match &asking {
            Some(asking) => columns = check_columns(&source, asking)?,
            None if source.kind.format != Format::JsonLines => {
                let message =
                    format!("{} is a table; what is asked about its rows says --prompt", source.name());
                return Err(CliError::unusable(message));
            }
            None => {}
        }
        let mut texts = Texts::open(&source, asking.as_ref()).map_err(|fault| told(&source, fault))?;
        // Rows already contain their model.
        let model = model.filter(|_| asking.is_none());
        let (mut parts, mut part) = (Vec::new(), Summing::default());
        while let Some(text) = texts.next(Some(&mut columns)) {
            let fault = match text {
                Ok(text) => part.add(&text, model.as_deref()).err().map(|fault| (text.line, fault)),
                Err(TextFault::Line(line, fault)) => Some((line, fault)),
                Err(fault) => return Err(told(&source, fault)),
            };
            fault.iter().for_each(|(line, fault)| faults.push(*line, fault));
            if part.lines == part_lines {
                parts.push(std::mem::take(&mut part).end());
            }
        }
        drop(texts);
        let usual = if asking.is_some() { HINT_ROWS } else { HINT_LINES };
        let hint = || advice(&source, asking.is_some()).unwrap_or_else(|| usual.to_owned());
        faults.check(source.name(), "nothing was sent", hint)?;
        if part.lines > 0 {
            parts.push(part.end());
        }
        match parts.len() {
            0 => Err(CliError::unusable(format!("{} holds no requests", source.name()))),
            _ => Ok(Self { source, model, asking, columns, part_lines, parts }),
        }
    }

    pub(crate) const fn source(&self) -> &Source {
        &self.source
    }

    /// The request of each row, if the input is a table.
    pub(crate) const fn asking(&self) -> Option<&Asking> {
        self.asking.as_ref()
    }

    /// The table, if it is one: its file, its format, and its columns.
    pub(crate) fn table(&self) -> Option<(&SharedFile, Kind, &Columns)> {
        self.asking.as_ref().map(|_| (&self.source.file, self.source.kind, &self.columns))
    }

    pub(crate) fn lines(&self) -> usize {
        self.parts.iter().map(|part| part.lines).sum()
    }

    /// Lines in each part except the last.
    pub(crate) const fn part_lines(&self) -> usize {
        self.part_lines
    }

    pub(crate) const fn parts(&self) -> usize {
        self.parts.len()
    }

    pub(crate) fn read(&self) -> Result<Parts<'_>, CliError> {
        let texts = Texts::open(&self.source, self.asking.as_ref()).map_err(|_| self.changed())?;
        Ok(Parts { input: self, texts, place: 0 })
    }

    fn changed(&self) -> CliError {
        CliError::unusable(format!("{} was changed while it was read", self.source.name()))
    }

    /// Whether lines can be read again in place, without a copy.
    fn is_plain(&self) -> bool {
        self.asking.is_none() && self.source.kind.compression == Compression::None
    }
}

impl Parts<'_> {
    /// Fails if the file cannot be read or has changed since the check.
    pub(crate) fn next(&mut self) -> Result<Option<Prompts>, CliError> {
        let input = self.input;
        let Some(checked) = input.parts.get(self.place) else { return Ok(None) };
        let mut copy = match input.is_plain() {
            true => None,
            false => {
                Some(input.source.nameless().map(Copy::new).map_err(|error| input.source.failed(&error))?)
            }
        };
        let (mut part, mut lines) = (Summing::default(), Vec::with_capacity(checked.lines));
        while part.lines < checked.lines {
            let Some(Ok(text)) = self.texts.next(None) else { return Err(input.changed()) };
            let (shape, sha256) = part.add(&text, input.model.as_deref()).map_err(|_| input.changed())?;
            let offset = match &mut copy {
                Some(copy) => copy.put(&text.bytes).map_err(|error| input.source.failed(&error))?,
                None => text.offset,
            };
            lines.push(Line { shape, sha256, offset, bytes: text.bytes.len() });
        }
        if part.end().sum != checked.sum {
            return Err(input.changed());
        }
        let file = match copy {
            Some(copy) => copy.end().map_err(|error| input.source.failed(&error))?,
            None => input.source.file.clone(),
        };
        let first = self.place * input.part_lines;
        self.place += 1;
        let word = if input.asking.is_some() { "row" } else { "line" };
        let name = input.source.name().to_owned();
        Ok(Some(Prompts { name, file, model: input.model.clone(), first, word, lines }))
    }
}

/// Texts of a part, in a nameless file.
struct Copy {
    out: BufWriter<File>,
    end: u64,
}

impl Copy {
    fn new(file: File) -> Self {
        Self { out: BufWriter::with_capacity(BUFFER_BYTES, file), end: 0 }
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<u64> {
        self.out.write_all(bytes)?;
        let offset = self.end;
        self.end += bytes.len() as u64;
        Ok(offset)
    }

    fn end(self) -> io::Result<SharedFile> {
        SharedFile::new(self.out.into_inner()?)
    }
}

#[derive(Default)]
struct Summing {
    lines: usize,
    sum: Sha256,
}

impl Summing {
    /// Adds a text and returns its shape and its sum, which depends on the model.
    fn add(&mut self, text: &Text, model: Option<&str>) -> Result<(Shape, [u8; 32]), String> {
        let line = text.bytes.trim_ascii();
        let shape = Shape::of(line)?;
        let sha256 = Prompts::sum(line, model);
        self.sum.update(sha256);
        self.lines += 1;
        Ok((shape, sha256))
    }

    fn end(self) -> Checked {
        Checked { lines: self.lines, sum: self.sum.finalize().into() }
    }
}

/// The columns that the file names before its rows. They must include all names of the templates.
fn check_columns(source: &Source, asking: &Asking) -> Result<Columns, CliError> {
    let rows = Rows::open(&source.file, source.kind).map_err(|fault| told(source, fault.into()))?;
    let Some(names) = rows.names() else { return Ok(Columns::default()) };
    if names.is_empty() {
        let message = format!("{} is empty; nothing was sent", source.name());
        return Err(
            CliError::unusable(message).with_hint("the first line of a table has the names of its columns")
        );
    }
    let columns = Columns::named(names.iter().map(Arc::clone)).map_err(CliError::unusable)?;
    let missing = asking.missing(|name| columns.has(name));
    if missing.is_empty() {
        return Ok(columns);
    }
    let list: Vec<&str> = columns.list().iter().map(|column| &*column.name).collect();
    let message = format!("{} has no column {}; nothing was sent", source.name(), missing.join(" and no "));
    Err(CliError::unusable(message).with_hint(format!("it has {}", list.join(", "))))
}

fn told(source: &Source, fault: TextFault) -> CliError {
    match fault {
        TextFault::File(error) => source.failed(&error),
        TextFault::Line(line, words) => {
            CliError::unusable(format!("{}: line {line} {words}; nothing was sent", source.name()))
        }
    }
}
