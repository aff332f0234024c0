//! `overnight account low-credits`: when and where one account is told that its credits are low.

use clap::Args;
use overnight_domain::ids::AccountId;
use overnight_domain::money::Credits;
use overnight_server::app::low_credits::{self, LowCredits};

use super::{operator, parse_id, print};
use crate::errors::CliError;
use crate::globals::Globals;
use crate::output::Output;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Its identifier, acct_….
    #[arg(value_parser = parse_id)]
    account: AccountId,
    /// Tell it once less than so many credits are available, such as 10 or 0.5; `none` to tell it no more.
    #[arg(value_name = "CREDITS", value_parser = parse, allow_negative_numbers = true)]
    threshold: Threshold,
    /// The address that is told, by an event `account.low_credits` that is signed like the other webhooks of the account.
    #[arg(long, value_name = "URL")]
    webhook: Option<String>,
}

/// Less than what the account is told of, if of anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Threshold(Option<Credits>);

fn parse(text: &str) -> Result<Threshold, String> {
    match text {
        "none" => Ok(Threshold(None)),
        text => match text.parse() {
            Ok(threshold) => Ok(Threshold(Some(threshold))),
            Err(_) => Err("must be a decimal number like 10, or none".to_owned()),
        },
    }
}

/// A threshold and an address, or neither.
fn setting(threshold: Option<Credits>, webhook: Option<String>) -> Result<Option<LowCredits>, CliError> {
    match (threshold, webhook) {
        (None, None) => Ok(None),
        (Some(threshold), Some(webhook)) => Ok(Some(LowCredits { threshold, webhook })),
        (Some(_), None) => Err(CliError::unusable("nobody is told").with_hint("say --webhook URL")),
        (None, Some(_)) => Err(CliError::unusable("`none` takes no --webhook")),
    }
}

pub(super) async fn run(arguments: Arguments, globals: &Globals, output: &Output) -> Result<(), CliError> {
    let Arguments { account, threshold: Threshold(threshold), webhook } = arguments;
    let low_credits = setting(threshold, webhook)?;
    let services = operator::open(globals).await?;
    let account = low_credits::set(&services, account, low_credits).await?;
    print(&services, output, &account).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_threshold_is_a_number_of_credits_or_none_and_needs_an_address() {
        let half: Credits = "0.5".parse().unwrap();
        assert_eq!(parse("0.5"), Ok(Threshold(Some(half))));
        assert_eq!(parse("none"), Ok(Threshold(None)));
        for text in ["", "all", "1e3", "1,5"] {
            assert!(parse(text).is_err(), "{text}");
        }
        let webhook = || Some("https://example.com/".to_owned());
        assert_eq!(setting(Some(half), webhook()).unwrap().unwrap().threshold, half);
        assert_eq!(setting(None, None).unwrap(), None);
        assert!(setting(Some(half), None).is_err());
        assert!(setting(None, webhook()).is_err());
    }
}
