//! The journals of a file's parts. Apart from the first, one is open at a time.

use std::ops::{Deref, DerefMut};
use std::path::{Path, PathBuf};

use super::{Journal, Of};
use crate::errors::CliError;
use crate::files::beside;
use crate::prompts::{Input, Prompts};

/// The journals of the whole input. The first is locked during the lifetime.
#[derive(Debug)]
pub(crate) struct Journals {
    base: PathBuf,
    service: String,
    part_lines: usize,
    first: Journal,
}

pub(crate) enum Held<'a> {
    First(&'a mut Journal),
    Other(Journal),
}

impl Journals {
    /// Opens or begins the journals of `input` against `service`; the first is at `base`.
    pub(crate) fn open(base: &Path, service: &str, input: &Input) -> Result<Self, CliError> {
        let part = input.read()?.next()?;
        let lines = part.as_ref().map_or(&[][..], Prompts::lines);
        let of = Of { service, part_lines: input.part_lines(), run: None };
        let first = Journal::open(base, of, lines)?;
        Ok(Self { base: base.to_owned(), service: service.to_owned(), part_lines: of.part_lines, first })
    }

    pub(crate) fn of(&mut self, prompts: &Prompts) -> Result<Held<'_>, CliError> {
        match prompts.first() / self.part_lines {
            0 => Ok(Held::First(&mut self.first)),
            place => {
                let run = format!("{}-{place}", self.first.run());
                let of = Of { service: &self.service, part_lines: self.part_lines, run: Some(&run) };
                Ok(Held::Other(Journal::open(&self.path(place), of, prompts.lines())?))
            }
        }
    }

    /// Removes the journals of all parts.
    pub(crate) fn remove(self, parts: usize) -> Result<(), CliError> {
        for path in (1..parts).map(|place| self.path(place)) {
            std::fs::remove_file(&path).map_err(|error| CliError::file(&path, &error))?;
        }
        self.first.remove()
    }

    fn path(&self, place: usize) -> PathBuf {
        beside(&self.base, &format!(".{}", place + 1))
    }
}

impl Deref for Held<'_> {
    type Target = Journal;

    fn deref(&self) -> &Journal {
        match self {
            Self::First(journal) => journal,
            Self::Other(journal) => journal,
        }
    }
}

impl DerefMut for Held<'_> {
    fn deref_mut(&mut self) -> &mut Journal {
        match self {
            Self::First(journal) => journal,
            Self::Other(journal) => journal,
        }
    }
}
