//! `overnight account spend`: completed and charged requests, by day, model and API key.

use clap::{Args, ValueEnum};
use overnight_app::usage::{self, Grouping, Place};
use overnight_app::{accounts, usage::UsageRecord};
use overnight_domain::ids::AccountId;

use super::{operator, parse_id};
use crate::errors::CliError;
use crate::globals::Globals;
use crate::lists::{Columns, List};
use crate::output::Output;

const COLUMNS: Columns = &[
    ("DAY", 10),
    ("REQUESTS", 9),
    ("INPUT TOKENS", 13),
    ("OUTPUT TOKENS", 13),
    ("CREDITS", 16),
    ("MODEL", 0),
];

const COLUMNS_WITH_KEYS: Columns = &[
    ("DAY", 10),
    ("REQUESTS", 9),
    ("INPUT TOKENS", 13),
    ("OUTPUT TOKENS", 13),
    ("CREDITS", 16),
    ("MODEL", 28),
    ("API KEY", 30),
    ("NAME", 0),
];

const PAGE: u32 = 1_000;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Its identifier, acct_….
    #[arg(value_parser = parse_id)]
    account: AccountId,
    /// How many days back, today (UTC) among them: 1 to 366.
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=366))]
    days: u32,
    /// By which the rows are grouped, with commas between them; over the others they are added up.
    #[arg(long, value_delimiter = ',', default_value = "day,model")]
    by: Vec<By>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum By {
    /// Each day.
    Day,
    /// Each model.
    Model,
    /// Each API key, and what came by none.
    Key,
}

fn grouping(by: &[By]) -> Grouping {
    Grouping { day: by.contains(&By::Day), model: by.contains(&By::Model), api_key: by.contains(&By::Key) }
}

pub(super) async fn run(arguments: Arguments, globals: &Globals, output: &Output) -> Result<(), CliError> {
    let services = operator::open_to_read(globals).await?;
    let account = accounts::get(&services, arguments.account).await?;
    let grouping = grouping(&arguments.by);
    let days = usage::last_days(&services, arguments.days);
    let mut list = List::begin(output, if grouping.api_key { COLUMNS_WITH_KEYS } else { COLUMNS });
    let mut after = Some(Place::BEGIN);
    while let Some(place) = after {
        let page = usage::list(&services, account.key, grouping, days, place, PAGE).await?;
        after = page.next;
        for record in page.records {
            print(&mut list, record, grouping)?;
        }
    }
    if list.end()? == 0 {
        output.note("nothing was completed in these days");
    }
    Ok(())
}

fn print(list: &mut List, record: UsageRecord, grouping: Grouping) -> Result<(), CliError> {
    let record = usage::told(record, grouping);
    let counts =
        [record.requests, record.prompt_tokens, record.completion_tokens].map(|count| count.to_string());
    let (day, model) = (record.day.as_deref().unwrap_or("all"), record.model.as_deref().unwrap_or("all"));
    let mut cells: Vec<&str> = vec![day, &counts[0], &counts[1], &counts[2], &record.credits, model];
    if grouping.api_key {
        cells.push(record.api_key_id.as_deref().unwrap_or("none"));
        cells.push(record.api_key_name.as_deref().unwrap_or("-"));
    }
    list.row(&record, &cells)
}
