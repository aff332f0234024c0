//! Where prompts are read from: a file, or what is piped in, which is kept in a nameless file because it is read more than once.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use overnight_tables::{Kind, SharedFile};
use sha2::{Digest, Sha256};

use crate::errors::CliError;
use crate::files::beside;

/// Standard input, where a file could be named.
const STDIN: &str = "-";

const BUFFER_BYTES: usize = 256 << 10;

/// A file to be read any number of times.
#[derive(Debug)]
pub(crate) struct Source {
    name: String,
    path: Option<PathBuf>,
    /// Where nameless files are made.
    folder: PathBuf,
    pub(crate) file: SharedFile,
    pub(crate) kind: Kind,
    /// Begins the SHA-256 of what was piped in: it is known again by that.
    sum: Option<String>,
}

impl Source {
    /// Opens a file, or reads standard input (`-`) or another pipe to its end. What it holds is told by `kind`, else by its name.
    /// Nameless files are made in `folder`.
    ///
    /// # Errors
    /// A file that cannot be read, or a name that says what is not read.
    pub(crate) fn open(path: &Path, kind: Option<Kind>, folder: &Path) -> Result<Self, CliError> {
        let failed = |error| CliError::file(path, &error);
        let named = || {
            Kind::of_name(path).map_err(|words| CliError::unusable(format!("{}: {words}", path.display())))
        };
        let into = folder.to_owned();
        if path.as_os_str() == STDIN {
            let (file, sum) =
                keep(&mut io::stdin().lock(), folder).map_err(|error| CliError::stdin(&error))?;
            let kind = kind.unwrap_or(Kind::JSON_LINES);
            return Ok(Self {
                name: "standard input".to_owned(),
                path: None,
                folder: into,
                file,
                kind,
                sum: Some(sum),
            });
        }
        let kind = kind.map_or_else(named, Ok)?;
        let mut file = File::open(path).map_err(failed)?;
        let name = path.display().to_string();
        if file.metadata().map_err(failed)?.is_file() {
            let file = SharedFile::new(file).map_err(failed)?;
            return Ok(Self { name, path: Some(path.to_owned()), folder: into, file, kind, sum: None });
        }
        let (file, sum) = keep(&mut file, folder).map_err(failed)?;
        Ok(Self { name, path: None, folder: into, file, kind, sum: Some(sum) })
    }

    /// What messages call it.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// What a batch of it is called.
    pub(crate) fn batch_name(&self) -> Option<String> {
        self.path.as_deref().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned())
    }

    /// Where the state of what is done with it is kept: next to it, or in this folder by what was piped in.
    pub(crate) fn state(&self, suffix: &str) -> PathBuf {
        match (&self.path, &self.sum) {
            (Some(path), _) => beside(path, suffix),
            (None, sum) => PathBuf::from(format!("stdin-{}{suffix}", sum.as_deref().unwrap_or_default())),
        }
    }

    /// Where files without a name are made.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// A file without a name, to be read again.
    pub(crate) fn nameless(&self) -> io::Result<File> {
        tempfile::tempfile_in(&self.folder)
    }

    /// What is wrong with it as a whole.
    pub(crate) fn failed(&self, error: &io::Error) -> CliError {
        CliError::unusable(format!("{}: {error}", self.name))
    }
}

fn keep(from: &mut dyn Read, folder: &Path) -> io::Result<(SharedFile, String)> {
    let mut file = tempfile::tempfile_in(folder)?;
    let (mut sum, mut buffer) = (Sha256::new(), vec![0; BUFFER_BYTES]);
    loop {
        match from.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => {
                sum.update(&buffer[..read]);
                file.write_all(&buffer[..read])?;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    let sum = sum.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    Ok((SharedFile::new(file)?, sum))
}
