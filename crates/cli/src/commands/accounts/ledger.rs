//! `overnight account ledger`: the entries of a balance.

use clap::Args;
use clap::builder::PossibleValuesParser;
use overnight_app::accounts;
use overnight_domain::ids::AccountId;
use overnight_domain::money::EntryKind;
use overnight_store::ledger::Entry;
use serde_json::json;

use super::{operator, parse_id};
use crate::errors::CliError;
use crate::globals::Globals;
use crate::lists::{Columns, List};
use crate::output::Output;
use crate::pages;
use crate::times::{self, seconds};

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

pub(super) async fn run(arguments: Arguments, globals: &Globals, output: &Output) -> Result<(), CliError> {
    let services = operator::open_to_read(globals).await?;
    let account = accounts::get(&services, arguments.account).await?;
    let kind = arguments.kind.as_deref().and_then(EntryKind::parse);
    let limit = arguments.limit.filter(|limit| *limit > 0).unwrap_or(u64::MAX);
    let mut list = List::begin(output, COLUMNS);
    let read = async |before, limit| accounts::list_entries(&services, &account, kind, before, limit).await;
    let print = async |entry: Entry| {
        let Entry { kind, amount, source, model, .. } = entry;
        let (created_at, amount) = (seconds(entry.created_at), amount.to_string());
        let request = entry.request.map(|request| request.to_string());
        let record = json!({
            "created_at": created_at, "kind": kind.as_str(), "amount": amount,
            // The reason for the entry, or the charged request.
            "source": source, "request": request, "model": model,
        });
        let subject = request.or(source).unwrap_or_default();
        let cells = [&times::utc(created_at), kind.as_str(), &amount, &subject, &model.unwrap_or_default()];
        list.row(&record, &cells)
    };
    pages::each_row(limit, read, print).await?;
    if list.end()? == 0 {
        output.note("the ledger has no such entry");
    }
    Ok(())
}
