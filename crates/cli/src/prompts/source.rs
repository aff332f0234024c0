//! The source of prompts: a file, or piped input, which is copied to a nameless file because it is read more than once.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use overnight_tables::{Kind, SharedFile};
use sha2::{Digest, Sha256};

use crate::errors::CliError;
use crate::files::beside;

/// Standard input in place of a file name.
const STDIN: &str = "-";

const BUFFER_BYTES: usize = 256 << 10;

/// A file that can be read any number of times.
#[derive(Debug)]
pub(crate) struct Source {
    name: String,
    path: Option<PathBuf>,
    folder: PathBuf,
    pub(crate) file: SharedFile,
    pub(crate) kind: Kind,
    /// The beginning of the SHA-256 of piped input, which identifies it.
    sum: Option<String>,
}

impl Source {
    /// Opens a file, or reads standard input (`-`) or another pipe to its end. `kind`, else the name, decides the format. Nameless files
    /// are created in `folder`. Fails if the name has the extension of an unsupported format.
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

    /// The name in messages.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn batch_name(&self) -> Option<String> {
        self.path.as_deref().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned())
    }

    /// The path of its state: next to the file, or in this folder, with the sum of piped input.
    pub(crate) fn state(&self, suffix: &str) -> PathBuf {
        match (&self.path, &self.sum) {
            (Some(path), _) => beside(path, suffix),
            (None, sum) => PathBuf::from(format!("stdin-{}{suffix}", sum.as_deref().unwrap_or_default())),
        }
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(crate) fn nameless(&self) -> io::Result<File> {
        tempfile::tempfile_in(&self.folder)
    }

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
