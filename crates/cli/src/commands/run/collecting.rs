//! The answers, fetched in the service's order and written in the order of the prompts.
//!
//! They pass through a nameless file, so that memory holds only where each one stands.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};

use overnight_client::Client;
use overnight_domain::ids::RequestId;
use overnight_tables::{Column, Compressor, Join};
use serde_json::Value;

use super::answers::{Record, of_record, of_refusal};
use crate::errors::CliError;
use crate::journal::{Journal, Journals};
use crate::output::Output;
use crate::posting::Refusal;
use crate::progress::Progress;
use crate::prompts::{Asking, Input, Prompts};
use crate::tabling::Tabling;
use crate::target::{Target, Written};

const BUFFER_BYTES: usize = 256 << 10;

/// How the lines ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) lines: usize,
    pub(super) completed: usize,
    pub(super) failed: usize,
    pub(super) cancelled: usize,
    pub(super) refused: usize,
    /// Of the completed ones, those with `warnings`.
    pub(super) warned: usize,
}

/// Fetches all answers and writes them.
pub(super) struct Collecting<'a> {
    pub(super) client: &'a Client,
    pub(super) input: &'a Input,
    pub(super) target: &'a Target,
    /// Those of answers, where a table is written.
    pub(super) columns: Option<&'a [Column]>,
    pub(super) output: &'a Output,
}

impl Collecting<'_> {
    /// Writes the target as a whole, and writes down which lines the next run has to ask for again.
    pub(super) async fn collect(
        &self,
        journals: &mut Journals,
        refusals: &[Refusal],
    ) -> Result<Counts, CliError> {
        let Self { client, input, target, columns, .. } = *self;
        let schema = input.asking().and_then(Asking::schema);
        let tabling = match columns {
            Some(_) => Some(Tabling::new(client, schema, input.asking().is_none()).await?),
            None => None,
        };
        let mut results = Results::begin(target, input, columns)?;
        let mut counts = Counts { lines: input.lines(), refused: refusals.len(), ..Counts::default() };
        let (mut parts, mut refusals) = (input.read()?, refusals);
        while let Some(prompts) = parts.next()? {
            let end = prompts.first() + prompts.lines().len();
            let here = refusals.partition_point(|refusal| refusal.index < end);
            let (here, behind) = refusals.split_at(here);
            refusals = behind;
            let mut journal = journals.of(&prompts)?;
            let mut part =
                Part { prompts: &prompts, tabling: tabling.as_ref(), spool: self.spool(&prompts)? };
            part.put_refusals(here)?;
            let to_ask_again = self.fetch(&mut part, &journal, &mut counts).await?;
            part.spool.pass_to(prompts.first(), |line| results.put(line))?;
            journal.record_failed(&to_ask_again)?;
        }
        results.commit(target)?;
        Ok(counts)
    }

    fn spool(&self, prompts: &Prompts) -> Result<Spool, CliError> {
        let file = self.input.source().nameless().map_err(|error| self.target.failed(&error))?;
        Ok(Spool::new(file, prompts.lines().len()))
    }

    /// Fetches the results of a part's batches into its spool; returns the lines that did not complete.
    async fn fetch(
        &self,
        part: &mut Part<'_>,
        journal: &Journal,
        counts: &mut Counts,
    ) -> Result<Vec<usize>, CliError> {
        let asked = journal.asked().iter().enumerate();
        let places: HashMap<RequestId, usize> =
            asked.filter_map(|(index, id)| Some(((*id)?, index))).collect();
        let (first, total) = (part.prompts.first() as u64, self.input.lines() as u64);
        let mut progress = Progress::begin(self.output, "fetching", total, first);
        let (mut fetched, mut to_ask_again) = (first, Vec::new());
        for batch in journal.batches() {
            let mut lines = self.client.get_batch_results(batch).await?.into_raw();
            while let Some(line) = lines.next().await {
                let line = line?;
                let record: Record<'_> = serde_json::from_slice(&line).map_err(|error| unreadable(&error))?;
                // A batch may hold what an earlier run asked for a line that has changed since.
                let place = RequestId::parse(&record.id).and_then(|id| places.get(&id));
                let Some(&index) = place else { continue };
                match record.status.as_ref() {
                    "completed" => counts.completed += 1,
                    "failed" => counts.failed += 1,
                    _ => counts.cancelled += 1,
                }
                counts.warned += usize::from(record.warnings.is_some());
                if record.status != "completed" {
                    to_ask_again.push(index);
                }
                part.put(index, &line, &record)?;
                fetched += 1;
                progress.set(fetched, "");
            }
        }
        Ok(to_ask_again)
    }
}

/// A part whose answers come.
struct Part<'a> {
    prompts: &'a Prompts,
    tabling: Option<&'a Tabling>,
    spool: Spool,
}

impl Part<'_> {
    fn put_refusals(&mut self, refusals: &[Refusal]) -> Result<(), CliError> {
        let mut reader = self.prompts.reader();
        for Refusal { index, status, error } in refusals {
            let index = index - self.prompts.first();
            let line = match self.tabling {
                Some(tabling) => serde_json::to_vec(&tabling.refused(error)),
                None => {
                    let shape = self.prompts.lines()[index].shape;
                    of_refusal(shape, &reader.create_body(index)?, *status, error)
                }
            };
            self.keep(index, &line.map_err(|error| unreadable(&error))?)?;
        }
        Ok(())
    }

    fn put(&mut self, index: usize, text: &[u8], record: &Record<'_>) -> Result<(), CliError> {
        let line = match self.tabling {
            Some(tabling) => tabling.cells(text).and_then(|cells| serde_json::to_vec(&cells)).map(Cow::Owned),
            None => of_record(self.prompts.lines()[index].shape, text, record),
        };
        self.keep(index, &line.map_err(|error| unreadable(&error))?)
    }

    fn keep(&mut self, index: usize, line: &[u8]) -> Result<(), CliError> {
        self.spool
            .put(index, line)
            .map_err(|error| CliError::unusable(format!("answers cannot be kept: {error}")))
    }
}

fn unreadable(error: &serde_json::Error) -> CliError {
    CliError::unavailable(format!("a record cannot be read: {error}"))
}

/// What is written: a line for each line, or a row for each row.
enum Results<'a> {
    Lines(Compressor<Written>, &'a Target),
    Table(Box<Join<Written>>, &'a Target),
}

impl<'a> Results<'a> {
    fn begin(target: &'a Target, input: &Input, columns: Option<&[Column]>) -> Result<Self, CliError> {
        let out = target.create().map_err(|error| target.failed(&error))?;
        match columns {
            Some(columns) => {
                let join = Join::begin(out, target.kind, input.table(), columns.to_vec());
                Ok(Self::Table(Box::new(join.map_err(|error| target.unwritten(error))?), target))
            }
            None => {
                let out = Compressor::new(out, target.kind.compression);
                Ok(Self::Lines(out.map_err(|error| target.failed(&error))?, target))
            }
        }
    }

    fn put(&mut self, line: &[u8]) -> Result<(), CliError> {
        match self {
            Self::Lines(out, target) => {
                out.write_all(line).and_then(|()| out.write_all(b"\n")).map_err(|error| target.failed(&error))
            }
            Self::Table(join, target) => {
                let cells: Vec<Value> = serde_json::from_slice(line).map_err(|error| unreadable(&error))?;
                join.push(cells).map_err(|error| target.unwritten(error))
            }
        }
    }

    fn commit(self, target: &Target) -> Result<(), CliError> {
        let written = match self {
            Self::Lines(out, _) => out.finish().map_err(|error| target.failed(&error))?,
            Self::Table(join, _) => join.finish().map_err(|error| target.unwritten(error))?,
        };
        written.commit().map_err(|error| target.failed(&error))
    }
}

/// Lines in the order of their coming, and where each one stands.
struct Spool {
    out: BufWriter<File>,
    end: u64,
    places: Vec<Option<(u64, usize)>>,
}

impl Spool {
    fn new(file: File, lines: usize) -> Self {
        Self { out: BufWriter::with_capacity(BUFFER_BYTES, file), end: 0, places: vec![None; lines] }
    }

    fn put(&mut self, index: usize, line: &[u8]) -> io::Result<()> {
        self.out.write_all(line)?;
        self.places[index] = Some((self.end, line.len()));
        self.end += line.len() as u64;
        Ok(())
    }

    /// Passes on every line in its place; `first` lines came before.
    fn pass_to(
        self,
        first: usize,
        mut take: impl FnMut(&[u8]) -> Result<(), CliError>,
    ) -> Result<(), CliError> {
        let failed = |error: io::Error| CliError::unusable(format!("answers cannot be read again: {error}"));
        let file = self.out.into_inner().map_err(|error| failed(error.into_error()))?;
        let mut spooled = BufReader::with_capacity(BUFFER_BYTES, file);
        let mut at = spooled.seek(SeekFrom::Start(0)).map_err(failed)?;
        let mut line = Vec::new();
        for (index, place) in self.places.iter().enumerate() {
            let Some((offset, bytes)) = *place else {
                let message = format!("the answer to line {} did not come", first + index + 1);
                return Err(CliError::unavailable(message));
            };
            let by = i64::try_from(offset).and_then(|to| i64::try_from(at).map(|at| to - at));
            spooled.seek_relative(by.unwrap_or(0)).map_err(failed)?;
            line.resize(bytes, 0);
            spooled.read_exact(&mut line).map_err(failed)?;
            at = offset + bytes as u64;
            take(&line)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spool(lines: usize) -> Spool {
        Spool::new(tempfile::tempfile().unwrap(), lines)
    }

    #[test]
    fn lines_come_in_any_order_and_are_written_in_theirs() {
        let mut spool = spool(3);
        for (index, line) in [(2, "two"), (0, "zero and longer"), (1, "")] {
            spool.put(index, line.as_bytes()).unwrap();
        }
        let mut taken = Vec::new();
        let take = |line: &[u8]| {
            taken.push(String::from_utf8(line.to_vec()).unwrap());
            Ok(())
        };
        spool.pass_to(0, take).unwrap();
        assert_eq!(taken, ["zero and longer", "", "two"]);
    }

    #[test]
    fn an_answer_that_is_missing_is_noticed() {
        let error = spool(1).pass_to(7, |_| Ok(())).unwrap_err();
        assert_eq!(error.message(), "the answer to line 8 did not come");
    }
}
