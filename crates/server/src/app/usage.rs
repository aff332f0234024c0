//! What accounts completed and were charged for it, by day, model and API key.

use jiff::civil::Date;
use jiff::{Span, Unit};
use overnight_domain::faults::codes;
use overnight_domain::ids::{AccountId, KeyId};
use overnight_domain::scheduler::AccountKey;
use overnight_wire::native::administration::LIST_OBJECT;
use overnight_wire::native::usage::{UsageList, UsageRecord as Record};

use super::errors::AppError;
use super::{Services, accounts};
use crate::store::ledger::spend::day_of;
use crate::store::ledger::usage::{self, Names};
pub use crate::store::ledger::usage::{Days, Grouping, Place, UsageRecord, UsedKey};

/// How many days one call of the API asks about at most.
pub const DAYS_MAX: i64 = 31;

/// How many days are asked about where nobody says.
const DAYS_DEFAULT: i64 = 30;

const FIRST: Date = Date::constant(1970, 1, 1);

/// What a call of the API asks for. Days are those since 1970, UTC.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsageQuery {
    /// What is told apart.
    pub grouping: Grouping,
    /// The first day.
    pub first_day: Option<i64>,
    /// The last day.
    pub last_day: Option<i64>,
    /// Behind which record, as the page before named it.
    pub after: Option<String>,
    /// So many records at most.
    pub limit: u32,
}

/// The last `days` days, today's (UTC) among them.
pub fn last_days(services: &Services, days: u32) -> Days {
    let last = day_of(services.clock.now());
    Days { first: last - i64::from(days) + 1, last }
}

/// Up to `limit` groups of what an account completed on some days, behind the one at `after`.
///
/// # Errors
///
/// Only what the store could not do.
pub async fn list(
    services: &Services,
    account: AccountKey,
    grouping: Grouping,
    days: Days,
    after: Place,
    limit: u32,
) -> Result<Vec<UsageRecord>, AppError> {
    Ok(usage::list(&services.store, account, grouping, days, after, limit).await?)
}

/// Up to `limit` of the API keys by which an account completed anything on the last `days` days, and what came by none, the dearest first.
///
/// # Errors
///
/// Only what the store could not do.
pub async fn list_dearest_keys(
    services: &Services,
    account: AccountKey,
    days: u32,
    limit: u32,
) -> Result<Vec<UsageRecord>, AppError> {
    let Days { first, .. } = last_days(services, days);
    Ok(usage::list_dearest_keys(&services.store, account, first, limit).await?)
}

/// As [`page`], of any account.
///
/// # Errors
///
/// As [`page`], and [`AppError::NotFound`] where there is no such account.
pub async fn page_of(services: &Services, id: AccountId, query: UsageQuery) -> Result<UsageList, AppError> {
    page(services, accounts::get(services, id).await?.key, query).await
}

/// A page of what an account completed.
///
/// # Errors
///
/// [`AppError::Invalid`] for too many days, and a place that no page named.
pub async fn page(
    services: &Services,
    account: AccountKey,
    query: UsageQuery,
) -> Result<UsageList, AppError> {
    let UsageQuery { grouping, first_day, last_day, after, limit } = query;
    let last = last_day.unwrap_or_else(|| day_of(services.clock.now()));
    let first = first_day.unwrap_or(last - DAYS_DEFAULT + 1);
    if !(0..DAYS_MAX).contains(&(last - first)) {
        let message = format!("must be up to {} days before the last day", DAYS_MAX - 1);
        return Err(AppError::invalid("first_day", codes::OUT_OF_RANGE, &message));
    }
    let after = match after {
        Some(text) => find_place(services, account, &text).await?,
        None => Place::BEGIN,
    };
    // One more tells whether there is a next page.
    let mut found = list(services, account, grouping, Days { first, last }, after, limit + 1).await?;
    let has_more = found.len() > limit as usize;
    found.truncate(limit as usize);
    let data: Vec<Record> = found.into_iter().map(|record| told(record, grouping)).collect();
    let next = data.last().filter(|_| has_more).map(name_of);
    Ok(UsageList { object: LIST_OBJECT.to_owned(), data, next })
}

/// A record as the API and the command line tell it.
pub fn told(record: UsageRecord, grouping: Grouping) -> Record {
    let UsageRecord { place, model, api_key, requests, prompt_tokens, completion_tokens, amount } = record;
    let (api_key_id, api_key_name) = api_key.map(|key| (key.id.to_string(), key.name)).unzip();
    Record {
        day: grouping.day.then(|| spell_day(place.day)),
        model,
        api_key_id,
        api_key_name: api_key_name.flatten(),
        requests,
        prompt_tokens,
        completion_tokens,
        credits: amount.to_string(),
    }
}

/// What stands for a part of a name that a record does not have.
const NOTHING: &str = "-";

/// The name of the place of a record. What may hold a comma is its end.
fn name_of(record: &Record) -> String {
    let part = |text: &Option<String>| text.as_deref().unwrap_or(NOTHING).to_owned();
    [part(&record.day), part(&record.api_key_id), part(&record.model)].join(",")
}

/// The place with such a name.
async fn find_place(services: &Services, account: AccountKey, name: &str) -> Result<Place, AppError> {
    let unknown = || AppError::invalid("after", codes::UNKNOWN, "must be the next of a page");
    let mut parts = name.splitn(3, ',');
    let mut part = || parts.next().map(|part| Some(part).filter(|part| *part != NOTHING)).ok_or_else(unknown);
    let (day, api_key, model) = (part()?, part()?, part()?);
    let day = day.map(|day| read_day(day).ok_or_else(unknown)).transpose()?.unwrap_or(0);
    let api_key = api_key.map(|key| KeyId::parse(key).ok_or_else(unknown)).transpose()?;
    let names = Names { model: model.map(str::to_owned), api_key };
    let (model, api_key) = usage::find_rows(&services.store, account, names).await?.ok_or_else(unknown)?;
    Ok(Place { day, model, api_key })
}

/// A day since 1970, as `2026-11-27`.
fn spell_day(day: i64) -> String {
    let date = Span::new().try_days(day).and_then(|days| FIRST.checked_add(days));
    date.map_or_else(|_| day.to_string(), |date| date.to_string())
}

/// The day of a text like `2026-11-27`, since 1970: of one before, a negative number.
pub fn read_day(text: &str) -> Option<i64> {
    let date: Date = text.parse().ok().filter(|date: &Date| date.to_string() == text)?;
    Some(i64::from(FIRST.until((Unit::Day, date)).ok()?.get_days()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_read_as_they_are_spelled_and_nothing_else_is() {
        for day in [-719_162, -1, 0, 1, 59, 20_784, 47_541, 2_932_896] {
            assert_eq!(read_day(&spell_day(day)), Some(day));
        }
        assert_eq!(spell_day(20_784), "2026-11-27");
        let wrong = ["", "2026-11-31", "2026-11-1", "20261127", "2026-11-27T00:00", " 2026-11-27", "0"];
        assert_eq!(wrong.map(read_day), [None; 7]);
    }
}
