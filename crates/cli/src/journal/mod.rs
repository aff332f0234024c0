//! The record of a run's sent requests, one JSON line for each step, synced to the disk before the run continues. After any stop, the same
//! command sends missing requests and none twice.
//!
//! A line of the prompts is identified by its number and its SHA-256. A long file has a journal for each of its parts; only the first one
//! is locked, and the others depend on it.

mod parts;

use std::fs::{File, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use overnight_base::ids::Ids;
use overnight_base::private_files::{folder_of, sync_folder};
use overnight_domain::ids::RequestId;
use serde::{Deserialize, Serialize};

use crate::errors::CliError;
use crate::prompts::{Line, PART_LINES};
use crate::times;

pub(crate) use parts::Journals;

const VERSION: u32 = 2;

/// How long a service remembers idempotency keys, in seconds.
const KEYS_KEPT_S: i64 = 48 * 60 * 60;

/// One step. Lines are counted from 1, times are in Unix seconds.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "step", rename_all = "snake_case")]
enum Entry {
    Begun {
        version: u32,
        service: String,
        /// Names the run in its idempotency keys.
        run: String,
        at: i64,
        /// Lines in a part of the file.
        #[serde(default = "part_lines_unless_said")]
        part_lines: usize,
    },
    Asked {
        line: usize,
        sha256: String,
        id: String,
        created_at: i64,
    },
    /// Every line that was sent so far has its answer, so later lines are sent with another key.
    Sent,
    /// Requests that ended without an answer: the next run sends them again.
    Failed {
        line: usize,
        id: String,
    },
    Grouped {
        batch: String,
    },
}

const fn part_lines_unless_said() -> usize {
    PART_LINES
}

/// The context of a journal, apart from the lines.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Of<'a> {
    pub(crate) service: &'a str,
    /// Lines in a part of the file.
    pub(crate) part_lines: usize,
    /// The name of the part's run, if it is not the first part.
    pub(crate) run: Option<&'a str>,
}

/// The journal of one run, locked while it is open.
#[derive(Debug)]
pub(crate) struct Journal {
    file: File,
    path: PathBuf,
    asked: Vec<Option<RequestId>>,
    batches: Vec<String>,
    run: String,
    /// How often all sent lines had their answers.
    sendings: u32,
    /// When the last request was created before this program began, if the service may have accepted later ones.
    in_doubt_since: Option<i64>,
    is_resumed: bool,
    /// Whether requests may have been sent with its key, now or by an earlier program.
    is_used: bool,
}

/// A request that was accepted for a line.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    /// The line, counted from 0.
    pub(crate) index: usize,
    pub(crate) id: String,
    pub(crate) created_at: i64,
}

impl Journal {
    /// Opens the journal of a run of `lines`, or begins it, also if the file belonged to a part of another run. Fails if the journal is in
    /// use, belongs to another service or other parts, or is damaged.
    pub(crate) fn open(path: &Path, of: Of<'_>, lines: &[Line]) -> Result<Self, CliError> {
        let failed = |error| CliError::file(path, &error);
        let mut file =
            File::options().read(true).write(true).create(true).truncate(false).open(path).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(CliError::unusable(format!("another run is using {}", path.display())));
            }
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        let mut text = String::new();
        file.read_to_string(&mut text).map_err(failed)?;
        let mut whole = text.rfind('\n').map_or(0, |end| end + 1);
        if of.run.is_some_and(|run| !is_of_run(&text, run)) {
            whole = 0;
        }
        let mut journal = Self {
            file,
            path: path.to_owned(),
            asked: vec![None; lines.len()],
            batches: Vec::new(),
            run: String::new(),
            sendings: 0,
            in_doubt_since: None,
            is_resumed: whole > 0,
            // An existing file counts as used until it was read.
            is_used: true,
        };
        journal.replay(&text[..whole], of, lines)?;
        // A step that a crash cut short did not happen.
        journal.file.set_len(whole as u64).map_err(failed)?;
        journal.file.seek(SeekFrom::End(0)).map_err(failed)?;
        if !journal.is_resumed {
            let run = of.run.map_or_else(|| hex(&Ids::from_system().random()), str::to_owned);
            journal.run.clone_from(&run);
            let (at, service, part_lines) = (times::now() / 1_000, of.service.to_owned(), of.part_lines);
            journal.is_used = false;
            journal.append(&[Entry::Begun { version: VERSION, service, run, at, part_lines }])?;
            sync_folder(folder_of(path)).map_err(failed)?;
        }
        Ok(journal)
    }

    fn replay(&mut self, text: &str, of: Of<'_>, lines: &[Line]) -> Result<(), CliError> {
        let path = self.path.clone();
        let damaged = || {
            CliError::unusable(format!("{} is damaged or of another version", path.display()))
                .with_hint("delete it to begin anew; requests that were accepted are then asked again")
        };
        for (number, line) in text.lines().enumerate() {
            let entry: Entry = serde_json::from_str(line).map_err(|_| damaged())?;
            match entry {
                Entry::Begun { version: VERSION, service, run, at, part_lines } if number == 0 => {
                    if service != of.service {
                        return Err(self.foreign(&service));
                    }
                    if part_lines != of.part_lines {
                        return Err(self.parted(part_lines));
                    }
                    (self.run, self.in_doubt_since) = (run, Some(at));
                }
                Entry::Asked { line, sha256, id, created_at } if number > 0 => {
                    let index = line.wrapping_sub(1);
                    self.in_doubt_since = Some(created_at);
                    if lines.get(index).is_some_and(|line| hex(&line.sha256) == sha256) {
                        self.asked[index] = Some(RequestId::parse(&id).ok_or_else(damaged)?);
                    }
                }
                Entry::Sent if number > 0 => {
                    self.sendings += 1;
                    self.in_doubt_since = None;
                }
                Entry::Failed { line, id } if number > 0 => {
                    if let Some(asked) = self.asked.get_mut(line.wrapping_sub(1))
                        && *asked == RequestId::parse(&id)
                    {
                        *asked = None;
                    }
                }
                Entry::Grouped { batch } if number > 0 => self.batches.push(batch),
                _ => return Err(damaged()),
            }
        }
        Ok(())
    }

    fn foreign(&self, begun_with: &str) -> CliError {
        let path = self.path.display();
        CliError::unusable(format!("{path} belongs to a submission to {begun_with}"))
            .with_hint(format!("go on there, or delete {path} to begin anew"))
    }

    fn parted(&self, part_lines: usize) -> CliError {
        let path = self.path.display();
        CliError::unusable(format!("{path} is of a run with --batch-lines {part_lines}"))
            .with_hint(format!("go on with that, or delete {path} to begin anew"))
    }

    pub(crate) fn run(&self) -> &str {
        &self.run
    }

    pub(crate) const fn is_resumed(&self) -> bool {
        self.is_resumed
    }

    pub(crate) fn asked(&self) -> &[Option<RequestId>] {
        &self.asked
    }

    /// The lines without a request, counted from 0.
    pub(crate) fn missing(&self) -> Vec<usize> {
        let missing = self.asked.iter().enumerate().filter(|(_, asked)| asked.is_none());
        missing.map(|(index, _)| index).collect()
    }

    pub(crate) fn batches(&self) -> &[String] {
        &self.batches
    }

    fn key(&self) -> String {
        format!("{}-{}", self.run, self.sendings)
    }

    /// The idempotency key for lines that are sent now; from now on the journal is kept.
    pub(crate) fn key_to_send(&mut self) -> String {
        self.is_used = true;
        self.key()
    }

    /// Whether the service may have accepted unanswered lines so long ago that it has forgotten their key.
    pub(crate) fn is_key_forgotten(&self) -> bool {
        self.in_doubt_since.is_some_and(|at| times::now() / 1_000 - at > KEYS_KEPT_S)
    }

    /// Records accepted requests; they are on the disk when this returns.
    pub(crate) fn record_asked(&mut self, lines: &[Line], asked: &[Asked]) -> Result<(), CliError> {
        let entries: Vec<Entry> = asked
            .iter()
            .map(|asked| Entry::Asked {
                line: asked.index + 1,
                sha256: hex(&lines[asked.index].sha256),
                id: asked.id.clone(),
                created_at: asked.created_at,
            })
            .collect();
        self.append(&entries)?;
        for asked in asked {
            self.asked[asked.index] = RequestId::parse(&asked.id);
        }
        Ok(())
    }

    /// Records that every sent line has its answer.
    pub(crate) fn record_sent(&mut self) -> Result<(), CliError> {
        self.append(&[Entry::Sent])?;
        self.sendings += 1;
        Ok(())
    }

    pub(crate) fn record_batch(&mut self, batch: &str) -> Result<(), CliError> {
        self.append(&[Entry::Grouped { batch: batch.to_owned() }])?;
        self.batches.push(batch.to_owned());
        Ok(())
    }

    /// Records lines that ended without an answer, counted from 0: the next run sends them again.
    pub(crate) fn record_failed(&mut self, indexes: &[usize]) -> Result<(), CliError> {
        let entries: Vec<Entry> = indexes
            .iter()
            .filter_map(|&index| Some(Entry::Failed { line: index + 1, id: self.asked[index]?.to_string() }))
            .collect();
        self.append(&entries)
    }

    /// Removes a finished journal.
    pub(crate) fn remove(self) -> Result<(), CliError> {
        std::fs::remove_file(&self.path).map_err(|error| CliError::file(&self.path, &error))
    }

    fn append(&mut self, entries: &[Entry]) -> Result<(), CliError> {
        let mut text = Vec::new();
        let written = entries.iter().try_for_each(|entry| {
            serde_json::to_writer(&mut text, entry)?;
            text.push(b'\n');
            Ok::<_, io::Error>(())
        });
        let written = written.and_then(|()| self.file.write_all(&text)).and_then(|()| self.file.sync_data());
        written.map_err(|error| CliError::file(&self.path, &error))
    }
}

/// Removes the file if its key was not used.
impl Drop for Journal {
    fn drop(&mut self) {
        if !self.is_used {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Whether a journal begins with the name of this run.
fn is_of_run(text: &str, run: &str) -> bool {
    let first = text.lines().next().and_then(|line| serde_json::from_str(line).ok());
    matches!(first, Some(Entry::Begun { run: found, .. }) if found == run)
}

fn hex(bytes: &[u8; 32]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.map(|digit| char::from(DIGITS[usize::from(digit)])).collect()
}

#[cfg(test)]
mod tests;
