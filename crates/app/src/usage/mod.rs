//! Completed requests of accounts and their charges, by day, model and API key.

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
use overnight_store::identity::api_keys;
use overnight_store::ledger::spend::day_of;
use overnight_store::ledger::usage;

use self::days::spell_day;
use self::places::{NamedPlace, name_of, read_place};
use super::errors::AppError;
use super::{Services, accounts};
pub use overnight_store::ledger::usage::{Days, Grouping, Place, UsageRecord, UsedKey};

/// The maximum days per call.
pub const DAYS_MAX: i64 = 31;

/// The days of a call that does not name the first.
const DAYS_DEFAULT: i64 = 30;

/// The query of a call. Days are counted since 1970, UTC.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsageQuery {
    pub grouping: Grouping,
    pub first_day: Option<i64>,
    pub last_day: Option<i64>,
    /// The cursor, as the previous page named it.
    pub after: Option<String>,
    /// The maximum number of records.
    pub limit: u32,
}

/// The last `days` days including today (UTC).
pub fn last_days(services: &Services, days: u32) -> Days {
    let last = day_of(services.clock.now());
    Days { first: last - i64::from(days) + 1, last }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsagePage {
    pub records: Vec<UsageRecord>,
    /// The cursor of the next page; `None` on the last.
    pub next: Option<Place>,
}

/// Up to `limit` groups of an account's completed requests on some days, after the one at `after`.
pub async fn list(
    services: &Services,
    account: AccountKey,
    grouping: Grouping,
    days: Days,
    after: Place,
    limit: u32,
) -> Result<UsagePage, AppError> {
    // One row more shows whether there is a next page.
    let mut records = usage::list(&services.store, account, grouping, days, after, limit + 1).await?;
    let has_more = records.len() > limit as usize;
    records.truncate(limit as usize);
    let next = records.last().filter(|_| has_more).map(|record| record.place);
    Ok(UsagePage { records, next })
}

/// At most `limit` API keys with completed requests on the last `days` days, and the requests without a key, the most expensive first.
pub async fn list_dearest_keys(
    services: &Services,
    account: AccountKey,
    days: u32,
    limit: u32,
) -> Result<Vec<UsageRecord>, AppError> {
    let Days { first, .. } = last_days(services, days);
    Ok(usage::list_dearest_keys(&services.store, account, first, limit).await?)
}

/// The charges of the last `days` days for each API key in the account's list of keys with completed requests.
pub async fn list_of_listed_keys(
    services: &Services,
    account: AccountKey,
    days: u32,
) -> Result<HashMap<KeyId, Credits>, AppError> {
    let Days { first, .. } = last_days(services, days);
    Ok(api_keys::list_spent(&services.store, account, first, services.clock.now()).await?)
}

/// Like [`page`], for any account.
pub async fn page_of(services: &Services, id: AccountId, query: UsageQuery) -> Result<UsageList, AppError> {
    page(services, accounts::get(services, id).await?.key, query).await
}

/// A page of an account's completed requests. Without a last day, all pages of a list use that of the first. Fails with
/// [`AppError::Invalid`] if there are too many days, or the cursor belongs to another grouping or last day.
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

/// The position of this cursor; `None` if its key or model does not exist.
async fn find(
    services: &Services,
    account: AccountKey,
    named: NamedPlace,
) -> Result<Option<Place>, AppError> {
    let NamedPlace { day, names, .. } = named;
    let rows = usage::find_rows(&services.store, account, names).await?;
    Ok(rows.map(|(model, api_key)| Place { day, model, api_key }))
}

/// A record in the form of the API and the command line.
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
