//! `overnight account spend`: what was charged, by day and model.

use std::collections::BTreeMap;

use clap::{Args, ValueEnum};
use overnight_domain::ids::AccountId;
use overnight_domain::money::Credits;
use overnight_server::app::accounts;
use overnight_server::store::ledger::spend::SpendRecord;
use serde::Serialize;

use super::{operator, parse_id};
use crate::errors::CliError;
use crate::globals::Globals;
use crate::lists::{Columns, List};
use crate::output::Output;
use crate::{quoting, times};

const COLUMNS: Columns = &[
    ("DAY", 10),
    ("REQUESTS", 9),
    ("INPUT TOKENS", 13),
    ("OUTPUT TOKENS", 13),
    ("CREDITS", 16),
    ("MODEL", 0),
];

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Its identifier, acct_….
    #[arg(value_parser = parse_id)]
    account: AccountId,
    /// How many days back, today (UTC) among them.
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    days: u32,
    /// Add the days up, or the models [default: neither].
    #[arg(long)]
    by: Option<By>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum By {
    /// One row for each day.
    Day,
    /// One row for each model.
    Model,
}

#[derive(Debug, Default, Serialize)]
struct Record {
    /// Null where the days are added up.
    day: Option<String>,
    /// Null where the models are.
    model: Option<String>,
    requests: i64,
    prompt_tokens: i64,
    completion_tokens: i64,
    #[serde(serialize_with = "quoting::as_text")]
    credits: Credits,
}

impl Record {
    fn add(&mut self, other: &SpendRecord) {
        self.requests += other.requests;
        self.prompt_tokens += other.prompt_tokens;
        self.completion_tokens += other.completion_tokens;
        self.credits = [self.credits, other.amount].into_iter().sum();
    }
}

pub(super) async fn run(arguments: Arguments, globals: &Globals, output: &Output) -> Result<(), CliError> {
    let services = operator::open(globals).await?;
    let account = accounts::get(&services, arguments.account).await?;
    let spent = accounts::list_spend(&services, &account, arguments.days).await?;
    let mut list = List::begin(output, COLUMNS);
    for record in add_up(&spent, arguments.by) {
        let counts =
            [record.requests, record.prompt_tokens, record.completion_tokens].map(|count| count.to_string());
        let (day, model) = (record.day.as_deref().unwrap_or("all"), record.model.as_deref().unwrap_or("all"));
        let credits = record.credits.to_string();
        list.row(&record, &[day, &counts[0], &counts[1], &counts[2], &credits, model])?;
    }
    if list.end()? == 0 {
        output.note("nothing was completed in these days");
    }
    Ok(())
}

/// One record for each pair of a day and a model that are told apart.
fn add_up(spent: &[SpendRecord], by: Option<By>) -> Vec<Record> {
    let mut records: BTreeMap<(Option<i64>, Option<&str>), Record> = BTreeMap::new();
    for one in spent {
        let day = (by != Some(By::Model)).then_some(one.day);
        let model = (by != Some(By::Day)).then_some(one.model.as_str());
        records.entry((day, model)).or_default().add(one);
    }
    let named = records.into_iter().map(|((day, model), record)| Record {
        day: day.map(times::day),
        model: model.map(str::to_owned),
        ..record
    });
    named.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_models_are_added_up_as_asked() {
        let one = |day, model: &str, amount| SpendRecord {
            day,
            model: model.to_owned(),
            requests: 1,
            prompt_tokens: 2,
            completion_tokens: 3,
            amount: Credits::from_nanos(amount),
        };
        let spent = [one(20_000, "a", 1), one(20_000, "b", 2), one(20_001, "a", 4)];
        let told = |by| -> Vec<(Option<String>, Option<String>, i64)> {
            let records = add_up(&spent, by).into_iter();
            records.map(|record| (record.day, record.model, record.credits.nanos())).collect()
        };
        let (first, second) = (Some("2024-10-04".to_owned()), Some("2024-10-05".to_owned()));
        let (a, b) = (Some("a".to_owned()), Some("b".to_owned()));
        assert_eq!(told(Some(By::Day)), [(first.clone(), None, 3), (second.clone(), None, 4)]);
        assert_eq!(told(Some(By::Model)), [(None, a.clone(), 5), (None, b.clone(), 2)]);
        assert_eq!(told(None), [(first.clone(), a.clone(), 1), (first, b, 2), (second, a, 4)]);
    }
}
