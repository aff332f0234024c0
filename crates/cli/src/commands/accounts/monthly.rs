//! `overnight account monthly`: what one account is granted each calendar month.

use clap::Args;
use overnight_domain::ids::AccountId;
use overnight_domain::money::Credits;
use overnight_server::app::monthly_grants;

use super::{operator, parse_id, print};
use crate::errors::CliError;
use crate::globals::Globals;
use crate::output::Output;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Its identifier, acct_….
    #[arg(value_parser = parse_id)]
    account: AccountId,
    /// How many credits, such as 25 or 0.5; `none` for none from now on.
    #[arg(value_name = "CREDITS", value_parser = parse, allow_negative_numbers = true)]
    amount: Amount,
}

/// What is granted each month, if anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Amount(Option<Credits>);

fn parse(text: &str) -> Result<Amount, String> {
    match text {
        "none" => Ok(Amount(None)),
        text => match text.parse() {
            Ok(amount) => Ok(Amount(Some(amount))),
            Err(_) => Err("must be a decimal number like 25, or none".to_owned()),
        },
    }
}

pub(super) async fn run(arguments: Arguments, globals: &Globals, output: &Output) -> Result<(), CliError> {
    let Arguments { account, amount: Amount(amount) } = arguments;
    let services = operator::open(globals).await?;
    let account = monthly_grants::set(&services, account, amount).await?;
    print(&services, output, &account).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_amount_is_a_number_of_credits_or_none() {
        assert_eq!(parse("0.5"), Ok(Amount(Some("0.5".parse().unwrap()))));
        assert_eq!(parse("none"), Ok(Amount(None)));
        for text in ["", "all", "1e3", "1,5"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
