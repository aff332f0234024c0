//! Fetches the answers in the service's order and writes them in the order of the prompts.
//!
//! They pass through a nameless file, so that memory only holds their positions.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::{self, Write};
use std::iter::Peekable;

use overnight_client::Client;
use overnight_domain::ids::RequestId;
use overnight_tables::{Column, Compressor, Join};
use serde_json::Value;

use super::answers::{Record, of_record, of_refusal};
use crate::errors::CliError;
use crate::journal::{Journal, Journals};
use crate::kept::Kept;
use crate::output::Output;
use crate::posting::{Refusal, unkept};
use crate::progress::Progress;
use crate::prompts::{Asking, Input, Prompts};
use crate::spool::Spool;
use crate::tabling::Tabling;
use crate::target::{Target, Written};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) lines: usize,
    pub(super) completed: usize,
    pub(super) failed: usize,
    pub(super) cancelled: usize,
    pub(super) refused: usize,
    /// Completed lines with `warnings`.
    pub(super) warned: usize,
}

pub(super) struct Collecting<'a> {
    pub(super) client: &'a Client,
    pub(super) input: &'a Input,
    pub(super) target: &'a Target,
    /// The columns of answers, if a table is written.
    pub(super) columns: Option<&'a [Column]>,
    pub(super) output: &'a Output,
}

impl Collecting<'_> {
    /// Writes the whole target, and records the lines that the next run has to send again.
    pub(super) async fn collect(
        &self,
        journals: &mut Journals,
        refusals: &Kept<Refusal>,
    ) -> Result<Counts, CliError> {
        let Self { client, input, target, columns, .. } = *self;
        let schema = input.asking().and_then(Asking::schema);
        let tabling = match columns {
            Some(_) => Some(Tabling::new(client, schema, input.asking().is_none()).await?),
            None => None,
        };
        let mut results = Results::begin(target, input, columns)?;
        let mut counts = Counts { lines: input.lines(), refused: refusals.len(), ..Counts::default() };
        let (mut parts, mut refusals) = (input.read()?, refusals.iter().peekable());
        while let Some(prompts) = parts.next()? {
            let mut journal = journals.of(&prompts)?;
            let mut part = Part { prompts: &prompts, tabling: tabling.as_ref(), spool: self.spool()? };
            part.put_refusals(&mut refusals)?;
            let to_ask_again = self.fetch(&mut part, &journal, &mut counts).await?;
            let (spool, places) = (part.spool, prompts.lines().len());
            pass(spool, places, |index| prompts.name_of(index), |line| results.put(line))?;
            journal.record_failed(&to_ask_again)?;
        }
        results.commit(target)?;
        Ok(counts)
    }

    fn spool(&self) -> Result<Spool, CliError> {
        let nameless = || self.input.source().nameless().map_err(|error| self.target.failed(&error));
        Ok(Spool::new(nameless()?, nameless()?))
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
                // A batch may contain the request of an earlier run for a line that has changed.
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

/// A part whose answers are being fetched.
struct Part<'a> {
    prompts: &'a Prompts,
    tabling: Option<&'a Tabling>,
    spool: Spool,
}

impl Part<'_> {
    /// Writes the part's refusals, which precede its answers.
    fn put_refusals(
        &mut self,
        refusals: &mut Peekable<impl Iterator<Item = io::Result<Refusal>>>,
    ) -> Result<(), CliError> {
        let mut reader = self.prompts.reader();
        let end = self.prompts.first() + self.prompts.lines().len();
        let is_here = |next: &io::Result<Refusal>| next.as_ref().map_or(true, |next| next.line <= end);
        while let Some(refusal) = refusals.next_if(is_here) {
            let Refusal { line, status, error } = refusal.map_err(|error| unkept(&error))?;
            let index = line - 1 - self.prompts.first();
            let line = match self.tabling {
                Some(tabling) => serde_json::to_vec(&tabling.refused(&error)),
                None => {
                    let shape = self.prompts.lines()[index].shape;
                    of_refusal(shape, &reader.create_body(index)?, status, &error)
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
            .put(index, line, 0)
            .map_err(|error| CliError::unusable(format!("answers cannot be kept: {error}")))
    }
}

fn unreadable(error: &serde_json::Error) -> CliError {
    CliError::unavailable(format!("a record cannot be read: {error}"))
}

/// The output: a line for each line, or a row for each row.
enum Results<'a> {
    Lines(Compressor<Written>, &'a Target),
    Table(Box<Join<Written>>, &'a Target),
}

impl<'a> Results<'a> {
    fn begin(target: &'a Target, input: &Input, columns: Option<&[Column]>) -> Result<Self, CliError> {
        let out = target.create().map_err(|error| target.failed(&error))?;
        match columns {
            Some(columns) => {
                let join = Join::begin(out, target.kind, target.formulas, input.table(), columns.to_vec());
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

/// Writes the texts of all places, in order. `name` returns the name of a place's line.
fn pass(
    spool: Spool,
    places: usize,
    name: impl Fn(usize) -> String,
    mut put: impl FnMut(&[u8]) -> Result<(), CliError>,
) -> Result<(), CliError> {
    let failed = |error: io::Error| CliError::unusable(format!("answers cannot be read again: {error}"));
    let mut spooled = spool.read().map_err(failed)?;
    for index in 0..places {
        let Some((text, _)) = spooled.get(index).map_err(failed)? else {
            return Err(CliError::unavailable(format!("the answer to {} did not come", name(index))));
        };
        put(text)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_written_in_the_order_of_their_lines_and_one_that_is_missing_is_noticed() {
        let mut spool = Spool::new(tempfile::tempfile().unwrap(), tempfile::tempfile().unwrap());
        for (index, text) in [(1, "second"), (0, "first"), (3, "fourth")] {
            spool.put(index, text.as_bytes(), 0).unwrap();
        }
        let mut written = Vec::new();
        let put = |text: &[u8]| {
            written.push(String::from_utf8(text.to_vec()).unwrap());
            Ok(())
        };
        let error = pass(spool, 4, |index| format!("line {}", index + 8), put).unwrap_err();
        assert_eq!(error.message(), "the answer to line 10 did not come");
        assert_eq!(written, ["first", "second"]);
    }
}
