//! Settings of one account: `overnight account limit`, `retention`, `monthly` and `low-credits`.

use clap::Args;
use overnight_app::accounts::low_credits::{self, LowCredits};
use overnight_app::accounts::monthly_grants;
use overnight_app::accounts::quotas;
use overnight_app::accounts::{self, FOR_EVER};
use overnight_config::{ByteSize, Millis};
use overnight_domain::ids::AccountId;
use overnight_domain::money::Credits;
use overnight_domain::quotas::{Quota, Quotas};

use super::{operator, parse_id, print};
use crate::errors::CliError;
use crate::globals::Globals;
use crate::output::Output;

#[derive(Debug, Args)]
pub(crate) struct Limits {
    /// Its identifier, acct_….
    #[arg(value_parser = parse_id)]
    account: AccountId,
    /// The most bytes stored of requests, results and batches, such as "20 GiB".
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    stored_bytes: Option<Setting<i64>>,
    /// The maximum number of requests that wait or run.
    #[arg(long, value_name = "N", value_parser = parse_count)]
    live_requests: Option<Setting<i64>>,
    /// The maximum number of requests that the API creates in a second.
    #[arg(long, value_name = "N", value_parser = parse_count)]
    requests_per_second: Option<Setting<i64>>,
    /// The maximum number of tokens of requests that complete on one day, UTC.
    #[arg(long, value_name = "N", value_parser = parse_count)]
    tokens_per_day: Option<Setting<i64>>,
}

#[derive(Debug, Args)]
pub(crate) struct Retention {
    /// Its identifier, acct_….
    #[arg(value_parser = parse_id)]
    account: AccountId,
    /// How long, such as 7d, from 1d to 3650d; `none` for ever, `default` for as long as the settings say.
    #[arg(value_name = "DURATION", value_parser = parse_retention)]
    retention: Setting<i64>,
}

#[derive(Debug, Args)]
pub(crate) struct Monthly {
    /// Its identifier, acct_….
    #[arg(value_parser = parse_id)]
    account: AccountId,
    /// How many credits, such as 25 or 0.5; `none` for none from now on.
    #[arg(value_name = "CREDITS", value_parser = parse_credits, allow_negative_numbers = true)]
    amount: Setting<Credits>,
}

#[derive(Debug, Args)]
pub(crate) struct Low {
    /// Its identifier, acct_….
    #[arg(value_parser = parse_id)]
    account: AccountId,
    /// Send the event once fewer credits are available, such as 10 or 0.5; `none` to stop.
    #[arg(value_name = "CREDITS", value_parser = parse_credits, allow_negative_numbers = true)]
    threshold: Setting<Credits>,
    /// The address of the event `account.low_credits`, which is signed like the other webhooks of the account.
    #[arg(long, value_name = "URL")]
    webhook: Option<String>,
}

/// A value for this account, or `None`. A newtype, because clap treats an `Option` as an optional argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Setting<T>(Option<T>);

/// Parses a word of `words`, else a value.
fn parse<T: Copy>(
    text: &str,
    words: &[(&str, Option<T>)],
    wanted: &str,
    value: impl FnOnce(&str) -> Option<T>,
) -> Result<Setting<T>, String> {
    if let Some((_, setting)) = words.iter().find(|(word, _)| *word == text) {
        return Ok(Setting(*setting));
    }
    value(text).map(|value| Setting(Some(value))).ok_or_else(|| format!("must be {wanted}"))
}

fn parse_limit(text: &str, wanted: &str, number: Option<i64>) -> Result<Setting<i64>, String> {
    let words = [("none", Some(Quotas::UNLIMITED)), ("default", None)];
    parse(text, &words, wanted, |_| number.filter(|number| *number > 0))
}

fn parse_count(text: &str) -> Result<Setting<i64>, String> {
    parse_limit(text, "a whole number above 0, none or default", text.parse().ok())
}

fn parse_size(text: &str) -> Result<Setting<i64>, String> {
    let size = text.parse().ok().and_then(|ByteSize(bytes)| i64::try_from(bytes).ok());
    parse_limit(text, "a whole number and B, KiB, MiB or GiB, like \"8 MiB\", none or default", size)
}

fn parse_retention(text: &str) -> Result<Setting<i64>, String> {
    let words = [("none", Some(FOR_EVER)), ("default", None)];
    parse(text, &words, "a whole number and a unit, like 7d, none or default", |text| {
        text.parse().ok().map(|Millis(retention)| retention)
    })
}

fn parse_credits(text: &str) -> Result<Setting<Credits>, String> {
    parse(text, &[("none", None)], "a decimal number like 25, or none", |text| text.parse().ok())
}

pub(super) async fn limit(arguments: Limits, globals: &Globals, output: &Output) -> Result<(), CliError> {
    let Limits { account, stored_bytes, live_requests, requests_per_second, tokens_per_day } = arguments;
    let changes: Vec<(Quota, Option<i64>)> = [
        (Quota::StoredBytes, stored_bytes),
        (Quota::LiveRequests, live_requests),
        (Quota::RequestsPerSecond, requests_per_second),
        (Quota::TokensPerDay, tokens_per_day),
    ]
    .into_iter()
    .filter_map(|(quota, limit)| limit.map(|Setting(limit)| (quota, limit)))
    .collect();
    let services = operator::open(globals).await?;
    let account = match changes.as_slice() {
        [] => accounts::get(&services, account).await?,
        changes => quotas::set(&services, account, changes).await?,
    };
    print(&services, output, &account).await
}

pub(super) async fn retain(arguments: Retention, globals: &Globals, output: &Output) -> Result<(), CliError> {
    let Retention { account, retention: Setting(retention) } = arguments;
    let services = operator::open(globals).await?;
    let account = accounts::set_retention(&services, account, retention).await?;
    print(&services, output, &account).await
}

pub(super) async fn grant_monthly(
    Monthly { account, amount: Setting(amount) }: Monthly,
    globals: &Globals,
    output: &Output,
) -> Result<(), CliError> {
    let services = operator::open(globals).await?;
    let account = monthly_grants::set(&services, account, amount).await?;
    print(&services, output, &account).await
}

pub(super) async fn tell_of_low(arguments: Low, globals: &Globals, output: &Output) -> Result<(), CliError> {
    let Low { account, threshold: Setting(threshold), webhook } = arguments;
    let low_credits = told_of(threshold, webhook)?;
    let services = operator::open(globals).await?;
    let account = low_credits::set(&services, account, low_credits).await?;
    print(&services, output, &account).await
}

fn told_of(threshold: Option<Credits>, webhook: Option<String>) -> Result<Option<LowCredits>, CliError> {
    match (threshold, webhook) {
        (None, None) => Ok(None),
        (Some(threshold), Some(webhook)) => Ok(Some(LowCredits { threshold, webhook })),
        (Some(_), None) => {
            Err(CliError::unusable("a threshold needs an address").with_hint("say --webhook URL"))
        }
        (None, Some(_)) => Err(CliError::unusable("`none` takes no --webhook")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_is_a_value_or_a_word() {
        for (text, expected) in
            [("default", Some(None)), ("none", Some(Some(i64::MAX))), ("12", Some(Some(12)))]
        {
            assert_eq!(parse_count(text).ok(), expected.map(Setting), "{text}");
        }
        let refusal = "must be a whole number above 0, none or default";
        for text in ["0", "-1", "many"] {
            assert_eq!(parse_count(text), Err(refusal.to_owned()), "{text}");
        }
        assert_eq!(parse_size("20 GiB"), Ok(Setting(Some(20 << 30))));
        assert!(parse_size("20").is_err());
        assert_eq!(parse_retention("7d"), Ok(Setting(Some(7 * 86_400_000))));
        assert_eq!(parse_retention("none"), Ok(Setting(Some(FOR_EVER))));
        assert_eq!(parse_retention("default"), Ok(Setting(None)));
        for text in ["", "7", "soon", "-1d"] {
            assert!(parse_retention(text).is_err(), "{text}");
        }
        assert_eq!(parse_credits("0.5"), Ok(Setting(Some("0.5".parse().unwrap()))));
        assert_eq!(parse_credits("none"), Ok(Setting(None)));
        for text in ["", "all", "1e3", "1,5", "default"] {
            assert!(parse_credits(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_threshold_needs_an_address() {
        let half: Credits = "0.5".parse().unwrap();
        let webhook = || Some("https://example.com/".to_owned());
        assert_eq!(told_of(Some(half), webhook()).unwrap().unwrap().threshold, half);
        assert_eq!(told_of(None, None).unwrap(), None);
        assert!(told_of(Some(half), None).is_err());
        assert!(told_of(None, webhook()).is_err());
    }
}
