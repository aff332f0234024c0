//! The target of results: a file that appears whole, or standard output.

use std::fs;
use std::io::{self, BufWriter, Stdout, Write};
use std::path::{Path, PathBuf};

use overnight_base::private_files::folder_of;
use overnight_tables::{Format, Formulas, Kind, WriteError};

use crate::errors::CliError;
use crate::files::{AtomicFile, is_database};

/// Standard output in place of a file name.
const STDOUT: &str = "-";

#[derive(Debug, Clone)]
pub(crate) struct Target {
    /// `None` for standard output.
    path: Option<PathBuf>,
    pub(crate) kind: Kind,
    pub(crate) formulas: Formulas,
}

pub(crate) enum Written {
    File(AtomicFile),
    Stdout(BufWriter<Stdout>),
}

impl Target {
    /// A file, or `-`. `kind`, else the name, decides the format. Fails if the name has the extension of a format that cannot be written.
    pub(crate) fn of(path: Option<&Path>, kind: Option<Kind>) -> Result<Self, CliError> {
        let path = path.filter(|path| path.as_os_str() != STDOUT);
        let named = || match path {
            Some(path) => Kind::of_name(path)
                .map_err(|words| CliError::unusable(format!("{}: {words}", path.display()))),
            None => Ok(Kind::JSON_LINES),
        };
        let kind = kind.map_or_else(named, Ok)?;
        Ok(Self { path: path.map(Path::to_owned), kind, formulas: Formulas::Kept })
    }

    /// Escapes formulas, if `is_escaped`. Fails if no spreadsheet would take text of the format for them.
    pub(crate) fn escaping_formulas(mut self, is_escaped: bool) -> Result<Self, CliError> {
        if is_escaped {
            if !matches!(self.kind.format, Format::Csv | Format::Tsv) {
                let message = format!("--escape-formulas is for CSV and TSV, and not for {}", self.kind);
                return Err(
                    CliError::unusable(message).with_hint("leave it out, or name a file .csv or .tsv")
                );
            }
            self.formulas = Formulas::Escaped;
        }
        Ok(self)
    }

    pub(crate) fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// The name in messages.
    pub(crate) fn name(&self) -> String {
        self.path.as_ref().map_or_else(|| "standard output".to_owned(), |path| path.display().to_string())
    }

    /// The folder for files next to it.
    pub(crate) fn folder(&self) -> &Path {
        self.path.as_deref().map_or(Path::new("."), folder_of)
    }

    /// Fails if the target cannot be written, or is `input`, before any request is sent.
    pub(crate) fn check(&self, input: &Path) -> Result<(), CliError> {
        let Some(target) = self.path() else { return Ok(()) };
        let folder = folder_of(target);
        if !folder.is_dir() {
            return Err(CliError::unusable(format!(
                "{} is no folder to write results into",
                folder.display()
            )));
        }
        let is_same = fs::canonicalize(target)
            .is_ok_and(|target| fs::canonicalize(input).is_ok_and(|file| file == target));
        if target.is_dir() {
            let message = format!("{} is a folder: results are written into a file", target.display());
            return Err(CliError::unusable(message).with_hint("name a file in it"));
        }
        if is_database(target) {
            let message = format!("{} is a database, and results would replace it", target.display());
            return Err(CliError::unusable(message).with_hint("name another file with -o"));
        }
        if is_same {
            let message = format!("{} is read, and results would replace it", target.display());
            return Err(CliError::unusable(message).with_hint("name another file with -o"));
        }
        Ok(())
    }

    pub(crate) fn create(&self) -> io::Result<Written> {
        Ok(match self.path() {
            Some(path) => Written::File(AtomicFile::create(path)?),
            None => Written::Stdout(BufWriter::new(io::stdout())),
        })
    }

    pub(crate) fn unwritten(&self, error: WriteError) -> CliError {
        match error {
            WriteError::Io(error) => self.failed(&error),
            error => CliError::unusable(error),
        }
    }

    pub(crate) fn failed(&self, error: &io::Error) -> CliError {
        match self.path() {
            Some(path) => CliError::file(path, error),
            None => CliError::stdout(error),
        }
    }
}

impl Written {
    /// Ends the writing: a file appears.
    pub(crate) fn commit(self) -> io::Result<()> {
        match self {
            Self::File(file) => file.commit(),
            Self::Stdout(mut out) => out.flush(),
        }
    }
}

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::File(file) => file.write(bytes),
            Self::Stdout(out) => out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::File(file) => file.flush(),
            Self::Stdout(out) => out.flush(),
        }
    }
}
