//! Closing accounts for good, and erasing their data.

use overnight_domain::faults::codes;
use overnight_domain::ids::AccountId;
use overnight_domain::scheduler::AccountKey;
use overnight_store::StoreError;
use overnight_store::closing;
use overnight_store::files;
use overnight_store::idempotency_keys::IdempotencyKey;
use overnight_store::identity::accounts::Account;
use overnight_store::requests::{self, Due};

use super::errors::AppError;
use super::{Services, accounts, batches, idempotency};

/// Closes an account for good: its keys are revoked, members lose access and nothing new is accepted, immediately in this process and
/// within a second in others. A service soon cancels live requests and releases their holds. Idempotent.
pub async fn close(services: &Services, id: AccountId) -> Result<Account, AppError> {
    close_repeatably(services, id, None).await.map(|(account, _)| account)
}

/// Like [`close`], once for all calls of the account with the same idempotency key. Also returns whether one closed it before.
pub(super) async fn close_repeatably(
    services: &Services,
    id: AccountId,
    key: Option<IdempotencyKey>,
) -> Result<(Account, bool), AppError> {
    let account = accounts::get(services, id).await?.key;
    let (now, once) = (services.clock.now(), idempotency::once(key, &id));
    let closed = closing::close(&services.store, account, now, once).await?;
    services.api_key_cache.distrust();
    Ok((accounts::get(services, id).await?, idempotency::is_repeat(closed)?))
}

/// Schedules the erasure of a closed account by a service, once none of its requests live: requests, results, batches, files, events, keys,
/// secrets, members, and users without another account; then its name. The ledger stays. Idempotent. Fails with [`AppError::Invalid`] if
/// the account is not closed.
pub async fn erase(services: &Services, id: AccountId) -> Result<Account, AppError> {
    erase_repeatably(services, id, None).await.map(|(account, _)| account)
}

/// Like [`erase`], once for all calls of the account with the same idempotency key. Also returns whether one requested it before.
pub(super) async fn erase_repeatably(
    services: &Services,
    id: AccountId,
    key: Option<IdempotencyKey>,
) -> Result<(Account, bool), AppError> {
    let account = accounts::get(services, id).await?;
    if account.closed_at.is_none() {
        return Err(AppError::invalid("account", codes::CONFLICT, "must be closed first"));
    }
    let (now, once) = (services.clock.now(), idempotency::once(key, &id));
    let asked = closing::ask_to_erase(&services.store, account.key, now, once).await?;
    Ok((accounts::get(services, id).await?, idempotency::is_repeat(asked)?))
}

/// Cancels the live requests of closed accounts in chunks, and informs the scheduler.
pub async fn finish_closings(services: &Services, now: i64) -> Result<(), StoreError> {
    for account in closing::list_living(&services.store).await? {
        cancel_batches(services, account).await?;
        let mut after = Some(0);
        while let Some(behind) = after {
            let (ended, next) = closing::cancel_chunk(&services.store, account, behind, now).await?;
            services.signals.ended(&ended);
            after = next;
        }
    }
    Ok(())
}

/// Runs before requests are cancelled: a batch whose requests are cancelled one by one would count as completed.
async fn cancel_batches(services: &Services, account: AccountKey) -> Result<(), StoreError> {
    loop {
        let unfinished = closing::list_unfinished_batches(&services.store, account).await?;
        if unfinished.is_empty() {
            return Ok(());
        }
        for batch in unfinished {
            match batches::cancel(services, account, batch).await {
                // It ended meanwhile.
                Ok(_) | Err(AppError::AlreadyEnded { .. } | AppError::NotFound(_)) => {}
                Err(error) => return Err(into_store_error(error)),
            }
        }
    }
}

/// Erases closed accounts that have no live requests, one piece of each in turn. An erasure that fails continues with the next call and
/// does not stop others; the first error is returned at the end.
pub async fn finish_erasures(services: &Services, now: i64) -> Result<(), StoreError> {
    let mut accounts = closing::list_to_erase(&services.store).await?;
    let mut failed = None;
    while !accounts.is_empty() {
        let mut left = Vec::new();
        for account in accounts {
            match erase_piece(services, account, now).await {
                Ok(true) => left.push(account),
                Ok(false) => {}
                Err(error) => {
                    tracing::debug!(account = account.0, %error, "an account is not erased yet; will retry");
                    failed = failed.or(Some(error));
                }
            }
        }
        accounts = left;
    }
    failed.map_or(Ok(()), Err)
}

/// Erases a piece of an account. Returns whether there may be more.
async fn erase_piece(services: &Services, account: AccountKey, now: i64) -> Result<bool, StoreError> {
    let store = &services.store;
    let ended = closing::list_batches(store, account).await?;
    for batch in &ended {
        match batches::delete(services, account, *batch).await {
            Ok(()) | Err(AppError::NotFound(_)) => {}
            // Another worker is cancelling it.
            Err(AppError::NotEnded(_)) => return Ok(false),
            Err(error) => return Err(into_store_error(error)),
        }
    }
    let deleted = requests::delete_ended(store, Due::all(account, requests::FOR_EVER)).await?;
    metrics::counter!("overnight_requests_deleted_total").increment(deleted as u64);
    if !ended.is_empty() || deleted > 0 || closing::delete_content(store, account).await? {
        return Ok(true);
    }
    while files::delete_pieces(store).await? {}
    closing::erase_identity(store, account, now).await?;
    if !closing::mark_erased(store, account, now).await? {
        tracing::debug!(
            account = account.0,
            "an account that is to be erased has bytes stored still; will retry"
        );
    }
    Ok(false)
}

fn into_store_error(error: AppError) -> StoreError {
    match error {
        AppError::StoreAway { cause, .. } | AppError::Internal(cause) => cause,
        told => StoreError::Refused(told.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use overnight_base::clock::ManualClock;
    use overnight_config::{Config, Sources};

    use super::*;
    use crate::requests::{Sent, create};

    const START: i64 = 1_750_000_000_000;
    const LATER: i64 = START + 2 * 60 * 60 * 1_000;

    #[tokio::test]
    async fn an_account_that_cannot_be_erased_keeps_no_later_one() {
        let folder = tempfile::tempdir().expect("a folder");
        let objects = folder.path().join("objects");
        let flags = [
            ("data_dir", folder.path().join("data").display().to_string()),
            ("object_store.url", format!("file://{}", objects.display())),
            ("object_store.min_bytes", "64 KiB".to_owned()),
            ("billing.enabled", "false".to_owned()),
            ("disk_reserve", "0 B".to_owned()),
        ];
        let flags = flags.into_iter().map(|(path, value)| (path.to_owned(), value)).collect();
        let environment = vec![("OVERNIGHT_MODELS".to_owned(), r#"[{ name = "tiny" }]"#.to_owned())];
        let config = Config::load(&Sources { file: None, environment, flags }).expect("settings");
        let services = Services::open(config, ManualClock::at(START)).await.expect("services");
        let content = "x".repeat(70_000);
        let body = format!(
            r#"{{"request_body":{{"model":"tiny","messages":[{{"role":"user","content":"{content}"}}]}}}}"#
        );
        let mut made = Vec::new();
        for name in ["first", "second"] {
            let account = accounts::create(&services, name).await.expect("an account");
            create(&services, account.key, Sent::native(body.clone())).await.expect("a request");
            close(&services, account.id).await.expect("a closed account");
            erase(&services, account.id).await.expect("a mark");
            made.push(account);
        }
        finish_closings(&services, START).await.expect("cancelled requests");
        let of_first = objects.join(made[0].key.0.to_string());
        let held = fs::read_dir(&of_first).expect("a folder").next().expect("an object").expect("it").path();
        fs::remove_file(&held).expect("a deletion");
        fs::create_dir(&held).expect("a folder in the place of an object, which is deleted as no file is");
        finish_erasures(&services, LATER).await.expect_err("one object is refused");
        let erased_at = async |account: &Account| {
            accounts::get(&services, account.id).await.expect("the account").erased_at
        };
        assert_eq!((erased_at(&made[0]).await, erased_at(&made[1]).await), (None, Some(LATER)));
    }
}
