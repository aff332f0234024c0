//! `overnight account limit`: what one account may use.

use clap::Args;
use overnight_domain::ids::AccountId;
use overnight_domain::quotas::{Quota, Quotas};
use overnight_server::app::{accounts, quotas};
use overnight_server::config::ByteSize;

use super::{operator, parse_id, print};
use crate::errors::CliError;
use crate::globals::Globals;
use crate::output::Output;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Its identifier, acct_….
    #[arg(value_parser = parse_id)]
    account: AccountId,
    /// The most bytes stored of requests, results and batches, such as "20 GiB".
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    stored_bytes: Option<Limit>,
    /// The most requests that wait or run.
    #[arg(long, value_name = "N", value_parser = parse_count)]
    live_requests: Option<Limit>,
    /// The most requests that the API creates in a second.
    #[arg(long, value_name = "N", value_parser = parse_count)]
    requests_per_second: Option<Limit>,
    /// The most tokens of requests that complete on one day, UTC.
    #[arg(long, value_name = "N", value_parser = parse_count)]
    tokens_per_day: Option<Limit>,
}

/// A quota of the account's own; `None` for that of the settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Limit(Option<i64>);

fn parse_count(text: &str) -> Result<Limit, String> {
    parse(text, "a whole number above 0", |text| text.parse().ok())
}

fn parse_size(text: &str) -> Result<Limit, String> {
    let size = |text: &str| text.parse().ok().and_then(|ByteSize(bytes)| i64::try_from(bytes).ok());
    parse(text, "a whole number and B, KiB, MiB or GiB, like \"8 MiB\"", size)
}

fn parse(text: &str, wanted: &str, number: impl FnOnce(&str) -> Option<i64>) -> Result<Limit, String> {
    match text {
        "default" => Ok(Limit(None)),
        "none" => Ok(Limit(Some(Quotas::UNLIMITED))),
        text => match number(text).filter(|number| *number > 0) {
            Some(number) => Ok(Limit(Some(number))),
            None => Err(format!("must be {wanted}, none or default")),
        },
    }
}

pub(crate) async fn run(arguments: Arguments, globals: &Globals, output: &Output) -> Result<(), CliError> {
    let Arguments { account, stored_bytes, live_requests, requests_per_second, tokens_per_day } = arguments;
    let changes: Vec<(Quota, Option<i64>)> = [
        (Quota::StoredBytes, stored_bytes),
        (Quota::LiveRequests, live_requests),
        (Quota::RequestsPerSecond, requests_per_second),
        (Quota::TokensPerDay, tokens_per_day),
    ]
    .into_iter()
    .filter_map(|(quota, limit)| limit.map(|Limit(limit)| (quota, limit)))
    .collect();
    let services = operator::open(globals).await?;
    let account = match changes.as_slice() {
        [] => accounts::get(&services, account).await?,
        changes => quotas::set(&services, account, changes).await?,
    };
    print(&services, output, &account).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_a_number_or_none_or_that_of_the_settings() {
        for (text, expected) in [
            ("default", Some(None)),
            ("none", Some(Some(i64::MAX))),
            ("12", Some(Some(12))),
            ("0", None),
            ("-1", None),
            ("many", None),
        ] {
            assert_eq!(parse_count(text).ok(), expected.map(Limit), "{text}");
        }
        assert_eq!(parse_size("20 GiB"), Ok(Limit(Some(20 << 30))));
        assert!(parse_size("20").is_err());
    }
}
