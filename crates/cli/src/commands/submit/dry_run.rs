//! `overnight submit --dry-run`: the price of a file, without sending it.

use overnight_client::Client;

use crate::errors::{CliError, Exit};
use crate::journal::Journals;
use crate::lists::{Columns, List};
use crate::output::Output;
use crate::posting::unkept;
use crate::prompts::Input;
use crate::quoting::Quote;
use crate::reasons::Reasons;
use crate::sampling::quote;
use crate::sending::Chosen;

const COLUMNS: Columns =
    &[("REQUESTS", 8), ("INPUT TOKENS", 12), ("OUTPUT TOKENS", 13), ("CREDITS", 14), ("MODEL", 0)];

/// Prices the lines that were not sent before.
pub(super) async fn run(
    client: &Client,
    input: &Input,
    journals: Option<&mut Journals>,
    output: &Output,
) -> Result<Exit, CliError> {
    let quote = quote(client, input, journals, Chosen::All).await?;
    let unpriced = input.lines() as u64 - quote.requests - quote.refused.len() as u64;
    if unpriced > 0 {
        output.note(&format!("{unpriced} lines were sent before, and are not counted"));
    }
    if output.is_json {
        output.object(&quote)?;
    } else {
        print(&quote, output)?;
    }
    Ok(if quote.suffices && quote.refused.is_empty() { Exit::Done } else { Exit::Failed })
}

fn print(quote: &Quote, output: &Output) -> Result<(), CliError> {
    let mut list = List::begin(output, COLUMNS);
    for model in &quote.models {
        let counts = [model.requests, model.input_tokens, model.output_tokens].map(|count| count.to_string());
        list.row(model, &[&counts[0], &counts[1], &counts[2], &model.cost.to_string(), &model.model])?;
    }
    list.end()?;
    let mut reasons = Reasons::default();
    for doubt in quote.refused.iter() {
        let doubt = doubt.map_err(|error| unkept(&error))?;
        if reasons.see(&doubt.message) {
            output.say(&format!("line {} would be refused: {}", doubt.line, doubt.message));
        }
    }
    reasons.rest(["would be refused"; 2]).iter().for_each(|line| output.say(line));
    let Quote { requests, cost, available, .. } = quote;
    let verdict = if quote.suffices { "enough" } else { "not enough" };
    output.line(&format!(
        "{requests} requests cost {cost} credits at most; {available} available: {verdict}. Nothing was sent."
    ))
}
