//! Where results go: a file that appears whole, or standard output.

use std::fs;
use std::io::{self, BufWriter, Stdout, Write};
use std::path::{Path, PathBuf};

use overnight_tables::{Kind, WriteError};

use crate::errors::CliError;
use crate::files::{AtomicFile, folder_of, is_database};

/// Standard output, where a file could be named.
const STDOUT: &str = "-";

/// Where results are to go, and as what.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    /// `None` for standard output.
    path: Option<PathBuf>,
    /// What is written.
    pub(crate) kind: Kind,
}

/// A target that is being written.
pub(crate) enum Written {
    File(AtomicFile),
    Stdout(BufWriter<Stdout>),
}

impl Target {
    /// A file, or `-`. What is written is told by `kind`, else by the name.
    ///
    /// # Errors
    /// A name that says what is not written.
    pub(crate) fn of(path: Option<&Path>, kind: Option<Kind>) -> Result<Self, CliError> {
        let path = path.filter(|path| path.as_os_str() != STDOUT);
        let named = || match path {
            Some(path) => Kind::of_name(path)
                .map_err(|words| CliError::unusable(format!("{}: {words}", path.display()))),
            None => Ok(Kind::JSON_LINES),
        };
        let kind = kind.map_or_else(named, Ok)?;
        Ok(Self { path: path.map(Path::to_owned), kind })
    }

    /// The file, unless it is standard output.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// What messages call it.
    pub(crate) fn name(&self) -> String {
        self.path.as_ref().map_or_else(|| "standard output".to_owned(), |path| path.display().to_string())
    }

    /// Where files beside it are made.
    pub(crate) fn folder(&self) -> &Path {
        self.path.as_deref().map_or(Path::new("."), folder_of)
    }

    /// Refuses what cannot be written, or is `input`, before anything is asked.
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

    /// Begins to write.
    pub(crate) fn create(&self) -> io::Result<Written> {
        Ok(match self.path() {
            Some(path) => Written::File(AtomicFile::create(path)?),
            None => Written::Stdout(BufWriter::new(io::stdout())),
        })
    }

    /// Why a table is not written.
    pub(crate) fn unwritten(&self, error: WriteError) -> CliError {
        match error {
            WriteError::Io(error) => self.failed(&error),
            error => CliError::unusable(error),
        }
    }

    /// Why it is not written.
    pub(crate) fn failed(&self, error: &io::Error) -> CliError {
        match self.path() {
            Some(path) => CliError::file(path, error),
            None => CliError::stdout(error),
        }
    }
}

impl Written {
    /// Ends it: a file appears.
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
