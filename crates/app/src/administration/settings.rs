//! Settings of an account: monthly credits, low-credits notices and retention.

use bytes::Bytes;
use overnight_domain::ids::AccountId;
use overnight_wire::native::accounts::Account as Record;

use super::{Administrator, Made, bodies, key_of};
use crate::Services;
use crate::accounts::low_credits::{self, LowCredits};
use crate::accounts::{self, Account, FOR_EVER, monthly_grants};
use crate::errors::AppError;

/// Sets an account's monthly grant (UTC) from the JSON text of the call's body.
pub async fn set_monthly_credits(
    services: &Services,
    caller: Administrator,
    id: AccountId,
    body: &Bytes,
    call: Option<[u8; 32]>,
) -> Result<Made<Record>, AppError> {
    let key = key_of(services, caller, body, call).await?;
    let amount = bodies::read(body, &["amount"], |members| members.credits("amount").flatten())?;
    changed(services, monthly_grants::set_repeatably(services, id, amount, key).await?).await
}

/// Sets the low-credits notice from the JSON text of the call's body.
pub async fn set_low_credits(
    services: &Services,
    caller: Administrator,
    id: AccountId,
    body: &Bytes,
    call: Option<[u8; 32]>,
) -> Result<Made<Record>, AppError> {
    let key = key_of(services, caller, body, call).await?;
    let low_credits = bodies::read(body, &["threshold", "webhook"], |members| {
        let Some(threshold) = members.credits("threshold")? else {
            members.refuse("webhook", "is for a threshold, and there is none");
            return None;
        };
        Some(LowCredits { threshold, webhook: members.required_text("webhook") })
    })?;
    changed(services, low_credits::set_repeatably(services, id, low_credits, key).await?).await
}

/// Sets the retention of ended requests from the JSON text of the call's body.
pub async fn set_retention(
    services: &Services,
    caller: Administrator,
    id: AccountId,
    body: &Bytes,
    call: Option<[u8; 32]>,
) -> Result<Made<Record>, AppError> {
    const NAME: &str = "retention_seconds";
    /// A number that clients cannot send.
    const NONE: i64 = -1;
    let key = key_of(services, caller, body, call).await?;
    let seconds = bodies::read(body, &[NAME], |members| {
        members.require(NAME);
        members.limit(NAME, NONE).flatten()
    })?;
    let retention = seconds.map(|seconds| match seconds {
        NONE => FOR_EVER,
        // Too many seconds for milliseconds are invalid, not "for ever".
        seconds => seconds.checked_mul(1_000).unwrap_or(FOR_EVER - 1),
    });
    changed(services, accounts::set_retention_repeatably(services, id, (NAME, retention), key).await?).await
}

pub(super) async fn changed(
    services: &Services,
    (account, is_repeat): (Account, bool),
) -> Result<Made<Record>, AppError> {
    Ok(Made { made: accounts::record(services, &account).await?, is_repeat })
}
