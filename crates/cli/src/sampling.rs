//! Limits the cost in advance: by the maximum, or by a sample that is sent first and extrapolated.

use clap::Args;
use overnight_client::{Client, RequestStatus};
use overnight_domain::money::Credits;

use crate::errors::CliError;
use crate::journal::Journals;
use crate::prompts::Input;
use crate::quoting::{Quote, Quoting};
use crate::sending::{Chosen, Submission, how_to_go_on};
use crate::tabling::{Tabling, Used};
use crate::waiting::{self, Waited};

const SAMPLE_MAX: usize = 1_000;

/// What it may cost.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Costs")]
pub(crate) struct CostArguments {
    /// Send so many lines first, spread over the file, wait for their answers, and say what the rest will use and cost as they did.
    #[arg(long, value_name = "COUNT", value_parser = sample)]
    pub(crate) sample: Option<usize>,
    /// Send nothing that may cost more than so many credits: at most, or with --sample, as the sample did.
    #[arg(long, value_name = "CREDITS", value_parser = credits)]
    pub(crate) max_cost: Option<Credits>,
}

fn sample(text: &str) -> Result<usize, String> {
    let count = text.parse().ok().filter(|count| (1..=SAMPLE_MAX).contains(count));
    count.ok_or_else(|| format!("a sample has 1 to {SAMPLE_MAX} lines"))
}

fn credits(text: &str) -> Result<Credits, String> {
    match text.parse::<Credits>() {
        Ok(credits) if credits < Credits::ZERO => Err("must be 0 or more".to_owned()),
        Ok(credits) => Ok(credits),
        Err(_) => Err("an amount of credits is a number such as 12.5".to_owned()),
    }
}

/// Prices the chosen lines without a request in the journals. Fails if the service does not give its prices.
pub(crate) async fn quote(
    client: &Client,
    input: &Input,
    mut journals: Option<&mut Journals>,
    chosen: Chosen,
) -> Result<Quote, CliError> {
    let mut quoting = Quoting::begin(client, input.source().folder()).await?;
    let (total, mut parts) = (input.lines(), input.read()?);
    while let Some(prompts) = parts.next()? {
        let missing: Vec<usize> = match &mut journals {
            Some(journals) => chosen.missing(&prompts, &*journals.of(&prompts)?, total),
            None => (0..prompts.lines().len()).collect(),
        };
        quoting.add(&prompts, &missing)?;
    }
    quoting.end()
}

/// Checks the cost before all lines are sent. Fails if it may exceed its limit, or if the sample cannot be sent and answered.
pub(crate) async fn check_cost(
    submission: &mut Submission<'_>,
    costs: &CostArguments,
) -> Result<(), CliError> {
    let chosen = costs.sample.map_or(Chosen::All, Chosen::Sample);
    if let Some(max) = costs.max_cost {
        let quote = quote(submission.client, submission.input, Some(submission.journals), chosen).await?;
        if quote.cost > max {
            let what = if costs.sample.is_some() { "the sample" } else { "what is to be sent" };
            let message =
                format!("{what} may cost {} credits, more than {max}; nothing was sent", quote.cost);
            return Err(CliError::too_costly(message));
        }
    }
    match costs.sample {
        Some(_) => send_sample(submission, chosen, costs.max_cost).await,
        None => Ok(()),
    }
}

async fn send_sample(
    submission: &mut Submission<'_>,
    chosen: Chosen,
    max: Option<Credits>,
) -> Result<(), CliError> {
    let sent = submission.send(chosen).await?;
    let Submission { client, output, interrupt, .. } = *submission;
    let waited = waiting::for_batches(client, &sent.batches, output, interrupt, waiting::no_reasons).await?;
    if let Waited::Stopped = waited {
        let message = "stopped: the sample is sent, and not all of it is answered";
        return Err(CliError::interrupted(message).with_hint(how_to_go_on()));
    }
    let (sample, rest) = read_sample(submission, chosen).await?;
    let count = sample.len() as u64;
    if count == 0 {
        let message = "no request of the sample was completed; nothing more was sent";
        return Err(CliError::too_costly(message).with_hint(how_to_go_on()));
    }
    let sum = |of: fn(&Used) -> u64| sample.iter().map(of).sum::<u64>();
    let (prompt, completion) = (sum(|used| used.prompt_tokens), sum(|used| used.completion_tokens));
    let cost: Credits = sample.iter().map(|used| used.cost).sum();
    let projected = |sum: u64| u128::from(sum) * rest as u128 / u128::from(count);
    let estimate = scaled(cost, rest, sample.len());
    let begins = format!("a sample of {count} cost {cost} credits");
    if rest == 0 {
        output.note(&format!("{begins}; nothing else is left to send"));
        return Ok(());
    }
    let (read, written) = (projected(prompt), projected(completion));
    let rest_of_it = match rest {
        1 => format!("the other one reads {read} tokens, writes {written} and costs {estimate} credits"),
        _ => format!("the {rest} others read {read} tokens, write {written} and cost {estimate} credits"),
    };
    let message = format!("{begins}; as it did, {rest_of_it}");
    match max {
        Some(max) if [cost, estimate].into_iter().sum::<Credits>() > max => {
            let message = format!("{message}, with the sample more than {max}; nothing more was sent");
            Err(CliError::too_costly(message).with_hint("a higher --max-cost goes on behind the sample"))
        }
        _ => {
            output.note(&message);
            Ok(())
        }
    }
}

/// The cost of `rest` lines if `count` lines have this cost, rounded up.
fn scaled(cost: Credits, rest: usize, count: usize) -> Credits {
    let nanos = (i128::from(cost.nanos()) * rest as i128 + count as i128 - 1) / count as i128;
    Credits::from_nanos(i64::try_from(nanos).unwrap_or(i64::MAX))
}

/// The usage of the sample, and the number of lines that were not sent.
async fn read_sample(
    submission: &mut Submission<'_>,
    chosen: Chosen,
) -> Result<(Vec<Used>, usize), CliError> {
    let (client, input) = (submission.client, submission.input);
    let tabling = Tabling::new(client, None, false).await?;
    let (total, mut sample, mut rest) = (input.lines(), Vec::new(), 0);
    let mut parts = input.read()?;
    while let Some(prompts) = parts.next()? {
        let journal = submission.journals.of(&prompts)?;
        for (index, asked) in journal.asked().iter().enumerate() {
            let Some(id) = asked else {
                rest += usize::from(!chosen.has(prompts.first() + index, total));
                continue;
            };
            if !chosen.has(prompts.first() + index, total) {
                continue;
            }
            let record = client.get_request(&id.to_string()).await?;
            if record.status == RequestStatus::Completed {
                sample.extend(tabling.used(&record)?);
            }
        }
    }
    Ok((sample, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_costs_as_the_sample_did() {
        let credits = |text: &str| text.parse::<Credits>().unwrap();
        assert_eq!(scaled(credits("0.3"), 997, 3), credits("99.7"));
        assert_eq!(scaled(credits("0.3"), 0, 3), Credits::ZERO);
        assert_eq!(scaled(credits("0.000000001"), 1, 3), credits("0.000000001"));
        assert_eq!(scaled(Credits::ZERO, 10, 3), Credits::ZERO);
    }
}
