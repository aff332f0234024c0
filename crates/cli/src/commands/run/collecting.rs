//! The answers, fetched in the service's order and written in the order of the prompts.
//!
//! They pass through a nameless file, so that memory holds only where each one stands.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::Path;

use overnight_client::Client;
use overnight_domain::ids::RequestId;

use super::answers::{Record, of_record, of_refusal};
use crate::errors::CliError;
use crate::files::{AtomicFile, folder_of};
use crate::journal::Journal;
use crate::output::Output;
use crate::posting::Refusal;
use crate::progress::Progress;
use crate::prompts::Prompts;

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

/// Writes `target` as a whole, and writes down which lines the next run has to ask for again.
pub(super) async fn collect(
    client: &Client,
    prompts: &Prompts,
    journal: &mut Journal,
    refusals: &[Refusal],
    target: &Path,
    output: &Output,
) -> Result<Counts, CliError> {
    let failed = |error| CliError::file(target, &error);
    let mut spool = Spool::create(target, prompts.lines().len()).map_err(failed)?;
    let mut counts = Counts { lines: prompts.lines().len(), refused: refusals.len(), ..Counts::default() };
    let mut reader = prompts.reader()?;
    for refusal in refusals {
        let body = reader.create_body(refusal.index)?;
        let shape = prompts.lines()[refusal.index].shape;
        let line =
            of_refusal(shape, &body, refusal.status, &refusal.error).map_err(|error| unreadable(&error))?;
        spool.put(refusal.index, &line).map_err(failed)?;
    }
    let to_ask_again = fetch(client, prompts, journal, output, &mut spool, &mut counts, target).await?;
    spool.write_to(target).map_err(failed)?;
    journal.record_failed(&to_ask_again)?;
    Ok(counts)
}

/// Fetches the results of every batch into the spool; returns the lines that did not complete.
async fn fetch(
    client: &Client,
    prompts: &Prompts,
    journal: &Journal,
    output: &Output,
    spool: &mut Spool,
    counts: &mut Counts,
    target: &Path,
) -> Result<Vec<usize>, CliError> {
    let asked = journal.asked().iter().enumerate();
    let places: HashMap<RequestId, usize> = asked.filter_map(|(index, id)| Some(((*id)?, index))).collect();
    let mut progress = Progress::begin(output, "fetching", places.len() as u64, 0);
    let (mut fetched, mut to_ask_again) = (0, Vec::new());
    for batch in journal.batches() {
        let mut lines = client.get_batch_results(batch).await?.into_raw();
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
            let answer = of_record(prompts.lines()[index].shape, &line, &record);
            let answer = answer.map_err(|error| unreadable(&error))?;
            spool.put(index, &answer).map_err(|error| CliError::file(target, &error))?;
            fetched += 1;
            progress.set(fetched, "");
        }
    }
    Ok(to_ask_again)
}

fn unreadable(error: &serde_json::Error) -> CliError {
    CliError::unavailable(format!("a record cannot be read: {error}"))
}

/// Lines in the order of their coming, and where each one stands.
struct Spool {
    out: BufWriter<File>,
    end: u64,
    places: Vec<Option<(u64, usize)>>,
}

impl Spool {
    fn create(target: &Path, lines: usize) -> io::Result<Self> {
        let file = tempfile::tempfile_in(folder_of(target))?;
        Ok(Self { out: BufWriter::with_capacity(BUFFER_BYTES, file), end: 0, places: vec![None; lines] })
    }

    fn put(&mut self, index: usize, line: &[u8]) -> io::Result<()> {
        self.out.write_all(line)?;
        self.places[index] = Some((self.end, line.len()));
        self.end += line.len() as u64;
        Ok(())
    }

    /// Writes every line in its place.
    fn write_to(self, target: &Path) -> io::Result<()> {
        let mut spooled = BufReader::with_capacity(BUFFER_BYTES, self.out.into_inner()?);
        let mut file = AtomicFile::create(target)?;
        let mut at = spooled.seek(SeekFrom::Start(0))?;
        for (index, place) in self.places.iter().enumerate() {
            let missing = || io::Error::other(format!("the answer to line {} did not come", index + 1));
            let (offset, bytes) = place.ok_or_else(missing)?;
            let by = i64::try_from(offset).and_then(|to| i64::try_from(at).map(|at| to - at));
            spooled.seek_relative(by.map_err(io::Error::other)?)?;
            let copied = io::copy(&mut (&mut spooled).take(bytes as u64), &mut file)?;
            at = offset + copied;
            file.write_all(b"\n")?;
        }
        file.commit()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_in_any_order_and_are_written_in_theirs() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("out");
        let mut spool = Spool::create(&target, 3).unwrap();
        for (index, line) in [(2, "two"), (0, "zero and longer"), (1, "")] {
            spool.put(index, line.as_bytes()).unwrap();
        }
        spool.write_to(&target).unwrap();
        assert_eq!(std::fs::read_to_string(&target).unwrap(), "zero and longer\n\ntwo\n");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn an_answer_that_is_missing_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("out");
        let error = Spool::create(&target, 1).unwrap().write_to(&target).unwrap_err();
        assert_eq!(error.to_string(), "the answer to line 1 did not come");
        assert!(!target.exists());
    }
}
