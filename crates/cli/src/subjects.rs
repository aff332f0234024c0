//! Requests and batches that the command line names.

use std::fs;
use std::path::{Path, PathBuf};

use overnight_base::paths::expanded;
use overnight_domain::ids::{BatchId, RequestId};

use crate::errors::CliError;

/// The prefix of the name of a file with identifiers.
const FROM_FILE: char = '@';

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Subject {
    Request(String),
    Batch(String),
}

impl Subject {
    /// Parses an identifier for clap.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        if RequestId::parse(text).is_some() {
            return Ok(Self::Request(text.to_owned()));
        }
        if BatchId::parse(text).is_some() {
            return Ok(Self::Batch(text.to_owned()));
        }
        Err("an identifier is req_ or batch_ and 26 characters".to_owned())
    }
}

/// A subject, or a file of them.
#[derive(Debug, Clone)]
pub(crate) enum Subjects {
    One(Subject),
    /// `@FILE`: one identifier a line, as `submit` prints them.
    File(PathBuf),
}

impl Subjects {
    /// Parses an identifier or the name of a file for clap.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        match text.strip_prefix(FROM_FILE) {
            Some(path) => expanded(path).map(Self::File),
            None => Subject::parse(text).map(Self::One),
        }
    }

    pub(crate) fn file(&self) -> Option<&Path> {
        match self {
            Self::One(_) => None,
            Self::File(path) => Some(path),
        }
    }

    /// All named subjects, in order. Fails if a file holds anything else.
    pub(crate) fn all(named: &[Self]) -> Result<Vec<Subject>, CliError> {
        let mut all = Vec::with_capacity(named.len());
        for named in named {
            let path = match named {
                Self::One(subject) => {
                    all.push(subject.clone());
                    continue;
                }
                Self::File(path) => path,
            };
            let text = fs::read_to_string(path).map_err(|error| CliError::file(path, &error))?;
            for (number, line) in text.lines().map(str::trim).enumerate().filter(|(_, line)| !line.is_empty())
            {
                all.push(Subject::parse(line).map_err(|words| {
                    CliError::unusable(format!("{}: line {}: {words}", path.display(), number + 1))
                })?);
            }
        }
        match all.is_empty() {
            true => Err(CliError::unusable("no request or batch is named")),
            false => Ok(all),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BATCH: &str = "batch_01arz3ndektsv4rrffq69g5fav";

    #[test]
    fn a_file_names_subjects_a_line_each() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ids");
        let word = format!("@{}", path.display());
        let read = || Subjects::all(&[Subjects::parse(BATCH).unwrap(), Subjects::parse(&word).unwrap()]);
        assert!(read().is_err());
        fs::write(&path, format!("{BATCH}\r\n\n {BATCH}\n")).unwrap();
        assert_eq!(read().unwrap(), [BATCH; 3].map(|id| Subject::Batch(id.to_owned())));
        fs::write(&path, format!("{BATCH}\nnonsense\n")).unwrap();
        assert!(read().unwrap_err().message().contains("line 2: an identifier is "));
        fs::write(&path, "").unwrap();
        assert!(Subjects::all(&[Subjects::parse(&word).unwrap()]).is_err());
    }
}
