//! `overnight audit-log`: who changed what.

use std::time::{Duration, UNIX_EPOCH};

use clap::Args;
use clap::builder::PossibleValuesParser;
use overnight_app::accounts;
use overnight_app::audit_log::{self, Entry, EntryRecord, Filter, Place};
use overnight_config::Millis;
use overnight_domain::audit_log::AuditAction;
use overnight_domain::ids::AccountId;

use super::accounts::parse_id;
use super::operator;
use crate::errors::{CliError, Exit};
use crate::globals::Globals;
use crate::lists::{Columns, List};
use crate::output::Output;
use crate::times;

const COLUMNS: Columns = &[
    ("TIME", 20),
    ("ACTION", 21),
    ("ACTOR", 30),
    ("TARGET", 31),
    ("ACCOUNT", 31),
    ("FROM", 15),
    ("DETAILS", 0),
];

const PAGE: u32 = 1_000;

#[derive(Debug, Args)]
#[command(after_help = "\
Times are durations back from now, such as 7d, or UTC: 2026-11-20 or 2026-11-20T21:14:03Z.

The log says who changed what. Whether the invariants of the database hold is checked by `overnight audit`.")]
pub(crate) struct Arguments {
    /// Only what concerns this account, acct_….
    #[arg(long, value_name = "ACCOUNT", value_parser = parse_id)]
    account: Option<AccountId>,
    /// Only entries of this time and later.
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    since: Option<i64>,
    /// Only entries from before this time.
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    until: Option<i64>,
    /// Only entries of this action.
    #[arg(long, hide_possible_values = true, value_parser = PossibleValuesParser::new(AuditAction::ALL.map(AuditAction::as_str)))]
    action: Option<String>,
    /// The newest so many; 0 for all.
    #[arg(long, value_name = "N", default_value_t = 100)]
    limit: u64,
}

/// Parses a time, in milliseconds.
fn parse_time(text: &str) -> Result<i64, String> {
    read_time(text, times::now())
}

fn read_time(text: &str, now: i64) -> Result<i64, String> {
    if let Ok(Millis(ms)) = text.parse::<Millis>() {
        return Ok(now.saturating_sub(ms));
    }
    let time = humantime::parse_rfc3339_weak(text)
        .or_else(|_| humantime::parse_rfc3339_weak(&format!("{text} 00:00:00")))
        .map_err(|_| "must be a duration such as 7d, or a time such as 2026-11-20 or 2026-11-20T21:14:03Z")?;
    let since = time.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    i64::try_from(since.as_millis()).map_err(|_| "is too far away".to_owned())
}

pub(crate) async fn run(arguments: Arguments, globals: &Globals, output: &Output) -> Result<Exit, CliError> {
    let services = operator::open_to_read(globals).await?;
    let account = match arguments.account {
        Some(account) => Some(accounts::get(&services, account).await?.key),
        None => None,
    };
    let before = arguments.until.map_or(Place::END, |until| Place { created_at: until, seq: i64::MIN });
    let action = arguments.action.as_deref().and_then(AuditAction::parse);
    let mut filter = Filter { account, action, since: arguments.since.unwrap_or(i64::MIN), before };
    let mut left = if arguments.limit == 0 { u64::MAX } else { arguments.limit };
    let mut list = List::begin_lines(output, COLUMNS);
    while left > 0 {
        let wanted = u32::try_from(left).unwrap_or(PAGE).min(PAGE);
        let page = audit_log::list(&services, &filter, wanted).await?;
        left -= page.entries.len() as u64;
        for entry in page.entries {
            print(&mut list, entry)?;
        }
        match page.next {
            Some(next) => filter.before = next,
            None => break,
        }
    }
    if list.end()? == 0 {
        output.note("the audit log has no such entry");
    }
    Ok(Exit::Done)
}

fn print(list: &mut List, entry: Entry) -> Result<(), CliError> {
    let time = times::utc(entry.place.created_at.div_euclid(1_000));
    let name = entry.actor_name.as_deref().or(entry.actor_id.as_deref()).unwrap_or_default();
    let actor = format!("{} {name}", entry.actor_kind.as_str());
    let target = entry.target_id.clone().unwrap_or_else(|| entry.target_type.clone());
    let account = entry.account.map_or_else(|| "-".to_owned(), |account| account.to_string());
    let address = entry.address.clone().unwrap_or_else(|| "-".to_owned());
    let (action, details) = (entry.action.clone(), entry.details.clone().unwrap_or_default());
    let cells = [&time, &action, actor.trim_end(), &target, &account, &address, &details];
    list.row(&EntryRecord::from(entry), &cells)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_a_duration_back_or_a_date_or_a_moment() {
        const NOW: i64 = 1_763_673_243_000;
        for (text, expected) in [
            ("7d", Some(NOW - 7 * 86_400_000)),
            ("2025-11-20", Some(1_763_596_800_000)),
            ("2025-11-20T21:14:03Z", Some(NOW)),
            ("yesterday", None),
            ("", None),
        ] {
            assert_eq!(read_time(text, NOW).ok(), expected, "{text}");
        }
    }
}
