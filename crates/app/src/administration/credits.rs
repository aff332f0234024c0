use bytes::Bytes;
use overnight_domain::faults::codes;
use overnight_domain::ids::AccountId;
use overnight_domain::money::{Credits, EntryKind};
use overnight_wire::native::administration::{Grant, GrantCreated};

use super::{Administrator, Made, PAGE_MAX, Page, bodies, key_of};
use crate::errors::AppError;
use crate::{Services, accounts};

/// Grants credits, or takes some back, from the JSON text of the call's body. Fails with [`AppError::Invalid`] if more is taken back than
/// is available, or the source was granted with another amount.
pub async fn grant(
    services: &Services,
    caller: Administrator,
    account: AccountId,
    body: &Bytes,
    call: Option<[u8; 32]>,
) -> Result<Made<GrantCreated>, AppError> {
    let key = key_of(services, caller, body, call).await?;
    let (amount, source) = bodies::read(body, &["amount", "source"], |members| {
        (members.required_text("amount"), members.text("source"))
    })?;
    let amount: Credits = amount.parse().map_err(|_| {
        let message = "must be a number of credits in a string, such as \"25\" or \"-12.50\"";
        AppError::invalid("amount", codes::UNKNOWN_VALUE, message)
    })?;
    let (grant, is_repeat) =
        accounts::grant_repeatably(services, account, amount, source.as_deref(), key).await?;
    let account = accounts::get(services, account).await?;
    let made = GrantCreated {
        source: grant.source,
        amount: amount.to_string(),
        is_new: grant.is_new,
        available: account.available().to_string(),
    };
    Ok(Made { made, is_repeat })
}

/// A page of an account's grants older than `after`, newest first; at most `limit` and [`PAGE_MAX`]. A page may have fewer rows, even none,
/// and still name a next page.
pub async fn list(
    services: &Services,
    account: AccountId,
    after: Option<i64>,
    limit: u32,
) -> Result<Page<Grant>, AppError> {
    let account = accounts::get(services, account).await?;
    let kind = Some(EntryKind::Grant);
    let page = accounts::list_entries(services, &account, kind, after, limit.min(PAGE_MAX)).await?;
    let next = page.next.or(page.looked_through).map(|seq| seq.to_string());
    let grant = |entry: accounts::Entry| Grant {
        source: entry.source.unwrap_or_default(),
        amount: entry.amount.to_string(),
        created_at: entry.created_at.div_euclid(1_000),
    };
    Ok(Page { rows: page.rows.into_iter().map(grant).collect(), next })
}
