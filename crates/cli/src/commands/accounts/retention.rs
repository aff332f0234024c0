//! `overnight account retention`: how long ended requests of one account are kept.

use clap::Args;
use overnight_domain::ids::AccountId;
use overnight_server::app::accounts::{self, FOR_EVER};
use overnight_server::config::Millis;

use super::{operator, parse_id, print};
use crate::errors::CliError;
use crate::globals::Globals;
use crate::output::Output;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Its identifier, acct_….
    #[arg(value_parser = parse_id)]
    account: AccountId,
    /// How long, such as 7d, from 1d to 3650d; `none` for ever, `default` for as long as the settings say.
    #[arg(value_name = "DURATION", value_parser = parse)]
    retention: Retention,
}

/// A retention of the account's own, in milliseconds; `None` for that of the settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Retention(Option<i64>);

fn parse(text: &str) -> Result<Retention, String> {
    match text {
        "default" => Ok(Retention(None)),
        "none" => Ok(Retention(Some(FOR_EVER))),
        text => match text.parse::<Millis>() {
            Ok(Millis(retention)) => Ok(Retention(Some(retention))),
            Err(_) => Err("must be a whole number and a unit, like 7d, none or default".to_owned()),
        },
    }
}

pub(super) async fn run(arguments: Arguments, globals: &Globals, output: &Output) -> Result<(), CliError> {
    let Arguments { account, retention: Retention(retention) } = arguments;
    let services = operator::open(globals).await?;
    let account = accounts::set_retention(&services, account, retention).await?;
    print(&services, output, &account).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_retention_is_a_time_or_none_or_that_of_the_settings() {
        assert_eq!(parse("7d"), Ok(Retention(Some(7 * 86_400_000))));
        assert_eq!(parse("none"), Ok(Retention(Some(FOR_EVER))));
        assert_eq!(parse("default"), Ok(Retention(None)));
        for text in ["", "7", "soon", "-1d"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
