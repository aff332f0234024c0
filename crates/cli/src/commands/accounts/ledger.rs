//! `overnight account ledger`: what moved a balance.

use clap::Args;
use clap::builder::PossibleValuesParser;
use overnight_domain::ids::AccountId;
use overnight_domain::money::EntryKind;
use overnight_server::app::accounts;
use overnight_server::store::ledger::Entry;
use serde::Serialize;

use super::{operator, parse_id};
use crate::errors::CliError;
use crate::globals::Globals;
use crate::lists::{Columns, List};
use crate::output::Output;
use crate::{pages, times};

const COLUMNS: Columns = &[("TIME", 20), ("KIND", 8), ("AMOUNT", 16), ("FOR", 31), ("MODEL", 0)];

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Its identifier, acct_….
    #[arg(value_parser = parse_id)]
    account: AccountId,
    /// Only entries of this kind.
    #[arg(long, value_parser = PossibleValuesParser::new(EntryKind::ALL.map(EntryKind::as_str)))]
    kind: Option<String>,
    /// The newest so many; 0 for all [default: all].
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
}

#[derive(Debug, Serialize)]
struct Record {
    created_at: i64,
    kind: &'static str,
    amount: String,
    /// What it was posted for; null for a charge.
    source: Option<String>,
    /// What was charged; null for anything else.
    request: Option<String>,
    model: Option<String>,
}

impl From<Entry> for Record {
    fn from(entry: Entry) -> Self {
        Self {
            created_at: entry.created_at.div_euclid(1_000),
            kind: entry.kind.as_str(),
            amount: entry.amount.to_string(),
            source: entry.source,
            request: entry.request.map(|request| request.to_string()),
            model: entry.model,
        }
    }
}

pub(super) async fn run(arguments: Arguments, globals: &Globals, output: &Output) -> Result<(), CliError> {
    let services = operator::open_to_read(globals).await?;
    let account = accounts::get(&services, arguments.account).await?;
    let kind = arguments.kind.as_deref().and_then(EntryKind::parse);
    let limit = arguments.limit.filter(|limit| *limit > 0).unwrap_or(u64::MAX);
    let mut list = List::begin(output, COLUMNS);
    let read = async |before, limit| accounts::list_entries(&services, &account, kind, before, limit).await;
    let print = async |entry| {
        let record = Record::from(entry);
        let time = times::utc(record.created_at);
        let subject = record.request.as_deref().or(record.source.as_deref()).unwrap_or_default();
        let model = record.model.as_deref().unwrap_or_default();
        list.row(&record, &[&time, record.kind, &record.amount, subject, model])
    };
    pages::each_row(limit, read, print).await?;
    if list.end()? == 0 {
        output.note("the ledger has no such entry");
    }
    Ok(())
}
