//! Sends the input part after part: lines without an answer are sent, and all are grouped. After a stop, the same command resumes.

use overnight_client::Client;

use crate::batches::{self, Grouped, Wanted};
use crate::errors::CliError;
use crate::interrupt::Interrupt;
use crate::journal::{Journal, Journals};
use crate::kept::Kept;
use crate::output::Output;
use crate::posting::{Refusal, Refusals, Sending, post_missing};
use crate::prompts::{Input, Prompts};
use crate::shell::quoted;

/// The limit of batches in a message.
const BATCHES_SHOWN: usize = 3;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Chosen {
    All,
    /// This number of lines, spread over all.
    Sample(usize),
}

impl Chosen {
    /// Whether a line, counted from 0, is chosen among `total`.
    pub(crate) const fn has(self, index: usize, total: usize) -> bool {
        match self {
            Self::All => true,
            Self::Sample(count) if count >= total => true,
            Self::Sample(count) => {
                let number = (index * count).div_ceil(total);
                number < count && number * total / count == index
            }
        }
    }

    /// The chosen lines of a part without a request, counted from 0 in it.
    pub(crate) fn missing(self, prompts: &Prompts, journal: &Journal, total: usize) -> Vec<usize> {
        let mut missing = journal.missing();
        missing.retain(|index| self.has(prompts.first() + index, total));
        missing
    }
}

/// Everything that is sent, and its service.
pub(crate) struct Submission<'a> {
    pub(crate) client: &'a Client,
    pub(crate) input: &'a Input,
    pub(crate) journals: &'a mut Journals,
    pub(crate) output: &'a Output,
    pub(crate) interrupt: &'a Interrupt,
    pub(crate) wanted: &'a Wanted,
}

#[derive(Debug)]
pub(crate) struct Sent {
    pub(crate) accepted: usize,
    pub(crate) refusals: Kept<Refusal>,
    /// The batches of all requests.
    pub(crate) batches: Vec<String>,
}

impl Submission<'_> {
    /// Sends every chosen line without a request, and groups accepted requests into batches. An error also says how to resume.
    pub(crate) async fn send(&mut self, chosen: Chosen) -> Result<Sent, CliError> {
        let outcome = self.try_send(chosen).await;
        outcome.map_err(|error| error.with_hint(how_to_go_on()))
    }

    async fn try_send(&mut self, chosen: Chosen) -> Result<Sent, CliError> {
        let Self { client, input, output, interrupt, .. } = *self;
        let (total, mut all_accepted, mut all_batches) = (input.lines(), 0, Vec::new());
        let mut refusals = Refusals::new(input.source().folder());
        let mut is_any_missing = false;
        let mut parts = input.read()?;
        while let Some(prompts) = parts.next()? {
            let mut journal = self.journals.of(&prompts)?;
            let missing = chosen.missing(&prompts, &journal, total);
            let is_last = prompts.first() + prompts.lines().len() == total;
            is_any_missing |= !missing.is_empty();
            if journal.is_resumed() && chosen == Chosen::All {
                if !missing.is_empty() {
                    tell_of_resuming(output, &journal, all_accepted, total);
                } else if is_last && !is_any_missing {
                    output.note(&format!("nothing to send: all {total} lines were sent before"));
                }
            }
            let journal = &mut *journal;
            let refusals = &mut refusals;
            let mut sending =
                Sending { client, prompts: &prompts, journal, output, interrupt, total, refusals };
            let refused = post_missing(&mut sending, &missing).await?;
            all_accepted += accepted(sending.journal);
            if interrupt.is_raised() {
                let message = format!("stopped: {all_accepted} of {total} lines are sent");
                return Err(CliError::interrupted(message));
            }
            let Grouped { current, outdated } = batches::group(client, sending.journal, self.wanted).await?;
            let lines = (0..prompts.lines().len())
                .filter(|index| chosen.has(prompts.first() + index, total) && !refused.contains(index));
            batches::compare(client, &prompts, journal, lines, &current, output).await?;
            all_batches.extend(current);
            tell_of_outdated(output, &outdated);
        }
        let refusals = refusals.end(output)?;
        Ok(Sent { accepted: all_accepted, refusals, batches: all_batches })
    }
}

fn tell_of_resuming(output: &Output, journal: &Journal, before: usize, total: usize) {
    let accepted = before + accepted(journal);
    output.note(&format!("going on: {accepted} of {total} lines were sent before"));
    if journal.is_key_forgotten() {
        output.note("that was more than 48 hours ago: the last lines of then may be sent twice");
    }
}

/// Reports batches that this command no longer uses: their unfinished requests still run, and cost.
fn tell_of_outdated(output: &Output, batches: &[String]) {
    for batch in batches {
        output.note(&format!(
            "all lines of {batch} changed since; `overnight cancel {batch}` ends what of it still runs"
        ));
    }
}

/// Prints the identifiers of the batches, so that the user finds them after a stop.
pub(crate) fn tell_of_batches(output: &Output, ids: &[String]) {
    let shown = ids.iter().take(BATCHES_SHOWN).map(String::as_str).collect::<Vec<_>>().join(", ");
    match ids.len().saturating_sub(BATCHES_SHOWN) {
        0 if ids.is_empty() => {}
        0 => output.note(&format!("waiting for {shown}")),
        more => output.note(&format!("waiting for {shown} and {more} more batches")),
    }
}

fn accepted(journal: &Journal) -> usize {
    journal.asked().iter().flatten().count()
}

/// Advice to repeat the command, with the command line.
pub(crate) fn how_to_go_on() -> String {
    let words = std::env::args_os().enumerate().map(|(place, word)| match place {
        0 => "overnight".to_owned(),
        _ => quoted(&word.to_string_lossy()),
    });
    format!("the same command goes on from here: {}", words.collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_has_as_many_lines_as_it_should_spread_over_all() {
        for (count, total) in [(1, 1), (1, 10), (3, 10), (20, 1_000_003), (7, 7), (9, 7)] {
            let chosen: Vec<usize> =
                (0..total).filter(|index| Chosen::Sample(count).has(*index, total)).collect();
            assert_eq!(chosen.len(), count.min(total), "{count} of {total}");
            assert_eq!(chosen[0], 0);
            let gaps = chosen.windows(2).map(|pair| pair[1] - pair[0]);
            assert!(gaps.into_iter().all(|gap| gap.abs_diff(total / count.min(total)) <= 1), "{chosen:?}");
        }
    }
}
