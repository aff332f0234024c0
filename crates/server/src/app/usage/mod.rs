//! What accounts completed and were charged for it, by day, model and API key.

mod days;
mod places;

use std::collections::HashMap;

use overnight_domain::faults::codes;
use overnight_domain::ids::{AccountId, KeyId};
use overnight_domain::money::Credits;
use overnight_domain::scheduler::AccountKey;
use overnight_wire::native::administration::LIST_OBJECT;
use overnight_wire::native::usage::{UsageList, UsageRecord as Record};

pub use self::days::read_day;
use self::days::spell_day;
use self::places::{NamedPlace, name_of, read_place};
use super::errors::AppError;
use super::{Services, accounts};
use crate::store::identity::api_keys;
use crate::store::ledger::spend::day_of;
use crate::store::ledger::usage;
pub use crate::store::ledger::usage::{Days, Grouping, Place, UsageRecord, UsedKey};

/// How many days one call of the API asks about at most.
pub const DAYS_MAX: i64 = 31;

/// How many days are asked about where nobody says.
const DAYS_DEFAULT: i64 = 30;

/// What a call of the API asks for. Days are those since 1970, UTC.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsageQuery {
    /// By which the records are grouped.
    pub grouping: Grouping,
    /// The first day.
    pub first_day: Option<i64>,
    /// The last day.
    pub last_day: Option<i64>,
    /// After which record, as the page before named it.
    pub after: Option<String>,
    /// The greatest number of records.
    pub limit: u32,
}

/// The last `days` days, today's (UTC) among them.
pub fn last_days(services: &Services, days: u32) -> Days {
    let last = day_of(services.clock.now());
    Days { first: last - i64::from(days) + 1, last }
}

/// Some groups of what an account completed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsagePage {
    pub records: Vec<UsageRecord>,
    /// After which the next page begins; `None` where there is none.
    pub next: Option<Place>,
}

/// Up to `limit` groups of what an account completed on some days, after the one at `after`.
pub async fn list(
    services: &Services,
    account: AccountKey,
    grouping: Grouping,
    days: Days,
    after: Place,
    limit: u32,
) -> Result<UsagePage, AppError> {
    // One more tells whether there is a next page.
    let mut records = usage::list(&services.store, account, grouping, days, after, limit + 1).await?;
    let has_more = records.len() > limit as usize;
    records.truncate(limit as usize);
    let next = records.last().filter(|_| has_more).map(|record| record.place);
    Ok(UsagePage { records, next })
}

/// Up to `limit` of the API keys by which an account completed anything on the last `days` days, and what came by none, the dearest first.
pub async fn list_dearest_keys(
    services: &Services,
    account: AccountKey,
    days: u32,
    limit: u32,
) -> Result<Vec<UsageRecord>, AppError> {
    let Days { first, .. } = last_days(services, days);
    Ok(usage::list_dearest_keys(&services.store, account, first, limit).await?)
}

/// What was charged on the last `days` days for each API key that the list of the account's keys has, and by which anything completed.
pub async fn list_of_listed_keys(
    services: &Services,
    account: AccountKey,
    days: u32,
) -> Result<HashMap<KeyId, Credits>, AppError> {
    let Days { first, .. } = last_days(services, days);
    Ok(api_keys::list_spent(&services.store, account, first, services.clock.now()).await?)
}

/// As [`page`], of any account.
///
/// # Errors
///
/// As [`page`], and [`AppError::NotFound`] where there is no such account.
pub async fn page_of(services: &Services, id: AccountId, query: UsageQuery) -> Result<UsageList, AppError> {
    page(services, accounts::get(services, id).await?.key, query).await
}

/// A page of what an account completed. Where nobody says the last day, every page of a list has that of its first page.
///
/// # Errors
///
/// [`AppError::Invalid`] for too many days, and for a place that no page of the same grouping and last day named.
pub async fn page(
    services: &Services,
    account: AccountKey,
    query: UsageQuery,
) -> Result<UsageList, AppError> {
    let UsageQuery { grouping, first_day, last_day, after, limit } = query;
    let unknown = || {
        AppError::invalid(
            "after",
            codes::UNKNOWN,
            "must be the next of a page with this group_by and last_day",
        )
    };
    let after = after.map(|name| read_place(&name, grouping).ok_or_else(unknown)).transpose()?;
    if let (Some(place), Some(last_day)) = (&after, last_day)
        && place.last_day != last_day
    {
        return Err(unknown());
    }
    let last = match (&after, last_day) {
        (Some(place), _) => place.last_day,
        (None, Some(last_day)) => last_day,
        (None, None) => day_of(services.clock.now()),
    };
    let first = first_day.unwrap_or(last - DAYS_DEFAULT + 1);
    if !(0..DAYS_MAX).contains(&(last - first)) {
        let message = format!("must be up to {} days before the last day", DAYS_MAX - 1);
        return Err(AppError::invalid("first_day", codes::OUT_OF_RANGE, &message));
    }
    let after = match after {
        Some(place) => find(services, account, place).await?.ok_or_else(unknown)?,
        None => Place::BEGIN,
    };
    let UsagePage { records, next } =
        list(services, account, grouping, Days { first, last }, after, limit).await?;
    let data: Vec<Record> = records.into_iter().map(|record| told(record, grouping)).collect();
    let next = data.last().filter(|_| next.is_some()).map(|record| name_of(record, grouping, last));
    Ok(UsageList { object: LIST_OBJECT.to_owned(), data, next })
}

/// The place with this name; `None` where the account has no such key, or nobody such a model.
async fn find(
    services: &Services,
    account: AccountKey,
    named: NamedPlace,
) -> Result<Option<Place>, AppError> {
    let NamedPlace { day, names, .. } = named;
    let rows = usage::find_rows(&services.store, account, names).await?;
    Ok(rows.map(|(model, api_key)| Place { day, model, api_key }))
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
