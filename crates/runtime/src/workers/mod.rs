//! Background workers. A recurring worker is a function without input that may run at any time and any number of times; [`spawn`] lists
//! them. Only the deliverer has work in progress between two runs, and is a task of its own.

mod clock_follower;
pub mod deliverer;
mod filler;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use overnight_app::accounts::{low_credits, monthly_grants};
use overnight_app::engines;
use overnight_app::requests::{fifo_baselines, waiting};
use overnight_app::{Services, api_keys, batches, closing, failures, left_behind, payments};
use overnight_config::Millis;
use overnight_store::StoreError;
use overnight_store::audit_log;
use overnight_store::delete_old_keys;
use overnight_store::file_watch;
use overnight_store::files;
use overnight_store::nodes;
use overnight_store::objects;
use overnight_store::queue::expiry;
use overnight_store::requests;
use tokio::task::JoinSet;

/// Runs of the [`dead_node_reaper`] per lease. A node that missed all but one of them is declared dead, so that what it held is released
/// within one lease, and two heartbeats may be lost.
const REAPER_RUNS_PER_LEASE: i64 = 10;
const EXPIRER_MS: i64 = 1_000;
const EXPIRER_CHUNK: u32 = 256;
const KEY_USAGE_FLUSHER_MS: i64 = 10_000;
const BATCH_CANCEL_RESUMER_MS: i64 = 60_000;
const BATCH_DELETION_RESUMER_MS: i64 = 60_000;
const LEFT_BATCHES_MS: i64 = 5_000;
/// Each run reads only deadlines that passed since the last, so this is cheap.
const DEADLINE_SLACK_MS: i64 = 10_000;
/// New monthly credits must arrive soon, and those of a month soon after its beginning.
const MONTHLY_GRANTS_MS: i64 = 60_000;
/// Payers must hear of it before the rest is spent; if no credits are low, a look finds an empty index.
const LOW_CREDITS_MS: i64 = 5_000;
/// Writes acknowledged in this interval after a file was removed are lost.
const STORE_FILES_MS: i64 = 1_000;
const REQUESTS_WAITING_MS: i64 = 10_000;
const RETENTION_MS: i64 = 60_000;
/// Lists of live requests read what ended since the last run.
const LIVE_BLOCKS_MS: i64 = 60_000;
const LOG_TRUNCATION_MS: i64 = 60_000;
/// Tries of truncating the log in a run, and the pause between them: readers come and go.
const LOG_TRUNCATION_TRIES: u32 = 10;
const LOG_TRUNCATION_TRY_MS: i64 = 500;
const ACCOUNT_CLOSER_MS: i64 = 2_000;
/// How long after its beginning an upload in parts is kept: until then a completion may be repeated.
const UPLOADS_KEPT_MS: i64 = 24 * 60 * 60 * 1_000;
/// How long a call may be repeated.
const IDEMPOTENCY_KEYS_KEPT_MS: i64 = 48 * 60 * 60 * 1_000;
const PAYMENT_CHECKS_MS: i64 = 60_000;
/// Requests that arrive before a new engine's cache size is known have no estimate.
const CACHE_SIZES_MS: i64 = 2_000;
/// Its charts have one value per minute.
const ENGINE_HISTORY_MS: i64 = 60_000;

/// A worker's function, which gets the time.
type Run = for<'a> fn(&'a Services, i64) -> BoxFuture<'a, Result<(), StoreError>>;

/// Runs every recurring worker at its own interval, the clock follower and the filler of batches, until the set is dropped.
pub fn spawn(services: &Services) -> JoinSet<()> {
    let lease_ms = services.config().lease.0;
    let recurring: [(&str, i64, Run); 24] = [
        ("heartbeat", lease_ms / 3, |services, now| Box::pin(heartbeat(services, now))),
        ("dead_node_reaper", lease_ms / REAPER_RUNS_PER_LEASE, |services, now| {
            Box::pin(dead_node_reaper(services, now))
        }),
        ("expirer", EXPIRER_MS, |services, now| Box::pin(expirer(services, now))),
        ("deadline_slack", DEADLINE_SLACK_MS, |services, now| Box::pin(deadline_slack(services, now))),
        ("store_files", STORE_FILES_MS, |services, _| Box::pin(file_watch::check(&services.store))),
        ("requests_waiting", REQUESTS_WAITING_MS, |services, _| Box::pin(requests_waiting(services))),
        ("batch_cancel_resumer", BATCH_CANCEL_RESUMER_MS, |services, now| {
            Box::pin(batch_cancel_resumer(services, now))
        }),
        ("batch_deletion_resumer", BATCH_DELETION_RESUMER_MS, |services, _| {
            Box::pin(batch_deletion_resumer(services))
        }),
        ("left_batches", LEFT_BATCHES_MS, |services, now| Box::pin(left_batches(services, now))),
        ("account_closer", ACCOUNT_CLOSER_MS, |services, now| Box::pin(account_closer(services, now))),
        ("account_eraser", ACCOUNT_CLOSER_MS, |services, now| Box::pin(account_eraser(services, now))),
        ("retention", RETENTION_MS, |services, now| Box::pin(retention(services, now))),
        ("live_blocks", LIVE_BLOCKS_MS, |services, _| Box::pin(requests::unmark_ended(&services.store))),
        ("audit_log_retention", RETENTION_MS, |services, now| Box::pin(audit_log_retention(services, now))),
        ("idempotency_keys", RETENTION_MS, |services, now| Box::pin(idempotency_keys(services, now))),
        ("files", RETENTION_MS, |services, now| Box::pin(files(services, now))),
        ("log_truncation", LOG_TRUNCATION_MS, |services, _| Box::pin(log_truncation(services))),
        ("objects", RETENTION_MS, |services, now| Box::pin(objects(services, now))),
        ("payment_checks", PAYMENT_CHECKS_MS, |services, now| Box::pin(payment_checks(services, now))),
        ("monthly_grants", MONTHLY_GRANTS_MS, |services, now| {
            Box::pin(monthly_grants::grant_due(services, now))
        }),
        ("low_credits", LOW_CREDITS_MS, |services, now| Box::pin(low_credits::notify_due(services, now))),
        ("cache_sizes", CACHE_SIZES_MS, |services, _| Box::pin(fifo_baselines::learn_cache_sizes(services))),
        ("engine_history", ENGINE_HISTORY_MS, |services, _| Box::pin(engines::history::note(services))),
        ("key_usage_flusher", KEY_USAGE_FLUSHER_MS, |services, _| Box::pin(key_usage_flusher(services))),
    ];
    let recurring = recurring
        .into_iter()
        .map(|(name, interval_ms, run)| (name, repeat(services.clone(), name, interval_ms, run).boxed()));
    let others = [
        (clock_follower::NAME, clock_follower::run(services.clone()).boxed()),
        (filler::NAME, filler::run(services.clone()).boxed()),
    ];
    let is_over = || {
        let store = services.store.clone();
        move || store.is_closed()
    };
    let all = recurring.chain(others);
    all.map(|(name, work)| services.supervisor.watch_until(name, work, is_over()).boxed()).collect()
}

async fn repeat(services: Services, name: &'static str, interval_ms: i64, run: Run) {
    loop {
        match services.supervisor.item(name, name, run(&services, services.clock.now())).await {
            Ok(Err(StoreError::Stopped)) => return,
            Ok(Err(error)) => tracing::warn!(%error, worker = name, "worker run failed; will retry"),
            // After a panic the worker runs again at its interval.
            Ok(Ok(())) | Err(_) => {}
        }
        services.clock.sleep_until(services.clock.now() + interval_ms).await;
    }
}

/// Renews this node's heartbeat, and with it all its leases.
pub async fn heartbeat(services: &Services, now: i64) -> Result<(), StoreError> {
    nodes::heartbeat(&services.store, now).await
}

/// Reclaims the leases of nodes whose heartbeat is too old; not just after a jump of the clock, when live nodes look dead until their next
/// heartbeat.
pub async fn dead_node_reaper(services: &Services, now: i64) -> Result<(), StoreError> {
    if services.clock.is_apart() {
        return Ok(());
    }
    let lease_ms = services.config().lease.0;
    let reclaimed =
        nodes::reclaim_stale(&services.store, now, lease_ms - lease_ms / REAPER_RUNS_PER_LEASE).await?;
    if reclaimed > 0 {
        tracing::warn!(reclaimed, "leases of a dead node were reclaimed");
    }
    Ok(())
}

/// Fails every request whose deadline has passed, chunk by chunk, and tells the scheduler.
pub async fn expirer(services: &Services, now: i64) -> Result<(), StoreError> {
    while expiry::is_overdue(&services.store, now).await? {
        let ended = expiry::expire(&services.store, now, EXPIRER_CHUNK, failures::expired_body()).await?;
        services.signals.ended(&ended);
        metrics::counter!("overnight_requests_expired_total").increment(ended.len() as u64);
    }
    Ok(())
}

/// Exports the time until the earliest deadline of any node's live request; NaN if there is none.
pub async fn deadline_slack(services: &Services, now: i64) -> Result<(), StoreError> {
    let deadline = expiry::earliest_deadline(&services.store, now).await?;
    let seconds = deadline.map_or(f64::NAN, |deadline| (deadline - now) as f64 / 1_000.0);
    metrics::gauge!("overnight_deadline_slack_seconds").set(seconds);
    Ok(())
}

/// Exports how many requests wait for models that are not configured; and, if nodes share the queue, how many wait for each model, because
/// none of their schedulers knows all of them. On SQLite the scheduler exports these.
pub async fn requests_waiting(services: &Services) -> Result<(), StoreError> {
    let left = left_behind(&services.store, &services.config()).await?;
    let left: i64 = left.iter().map(|(_, waiting)| waiting).sum();
    metrics::gauge!("overnight_requests_without_model").set(left as f64);
    for model in services.models().iter().filter(|_| services.store.is_shared()) {
        let name = &model.config.name;
        match waiting::count(services, name).await {
            Ok(count) => {
                metrics::gauge!("overnight_requests_waiting", "model" => name.clone()).set(count as f64);
            }
            Err(error) => tracing::debug!(%error, model = name, "counting what waits failed; will retry"),
        }
    }
    Ok(())
}

/// Ends the live requests of every batch that is marked as cancelled: a crash may have interrupted its cancel.
pub async fn batch_cancel_resumer(services: &Services, now: i64) -> Result<(), StoreError> {
    batches::finish_cancels(services, now).await
}

/// Deletes the rest of every batch that is marked as deleted: a crash may have interrupted its deletion.
pub async fn batch_deletion_resumer(services: &Services) -> Result<(), StoreError> {
    batches::finish_deletions(services).await
}

/// Releases the requests of batches whose creation a crash interrupted.
pub async fn left_batches(services: &Services, now: i64) -> Result<(), StoreError> {
    batches::finish_left(services, now).await
}

/// Cancels the live requests of closed accounts.
pub async fn account_closer(services: &Services, now: i64) -> Result<(), StoreError> {
    closing::finish_closings(services, now).await
}

/// Erases closed accounts at an operator's request, a part of each in turn.
pub async fn account_eraser(services: &Services, now: i64) -> Result<(), StoreError> {
    closing::finish_erasures(services, now).await
}

/// Deletes every request whose retention is over, some of each account in turn, so that a large account delays no other.
pub async fn retention(services: &Services, now: i64) -> Result<(), StoreError> {
    let default = services.config().retention.map(|Millis(retention)| retention);
    let mut round = requests::list_due(&services.store, now, default).await?;
    while !round.is_empty() {
        let mut next_round = Vec::new();
        for due in round {
            let deleted = requests::delete_ended(&services.store, due).await?;
            metrics::counter!("overnight_requests_deleted_total").increment(deleted as u64);
            let rest = if deleted > 0 {
                Some(due)
            } else {
                requests::skip_future(&services.store, due, now).await?
            };
            next_round.extend(rest);
        }
        round = next_round;
    }
    Ok(())
}

/// Deletes every entry of the audit log whose retention is over, some at a time.
pub async fn audit_log_retention(services: &Services, now: i64) -> Result<(), StoreError> {
    let Millis(retention) = services.config().audit_log_retention;
    while audit_log::delete_old(&services.store, now - retention).await? > 0 {}
    Ok(())
}

pub async fn idempotency_keys(services: &Services, now: i64) -> Result<(), StoreError> {
    while delete_old_keys(&services.store, now - IDEMPOTENCY_KEYS_KEPT_MS).await? > 0 {}
    Ok(())
}

/// Deletes expired files, abandoned uploads with their parts, and the pieces of deleted files; forgets old uploads.
pub async fn files(services: &Services, now: i64) -> Result<(), StoreError> {
    while files::delete_expired(&services.store, now).await? > 0 {}
    while files::delete_pieces(&services.store).await? {}
    while files::forget_old(&services.store, now - UPLOADS_KEPT_MS).await? > 0 {}
    Ok(())
}

/// Truncates the write-ahead log, so that it contains no deleted data; if a long read prevents it, a later run does.
pub async fn log_truncation(services: &Services) -> Result<(), StoreError> {
    let Services { store, clock, .. } = services;
    for _ in 0..LOG_TRUNCATION_TRIES {
        if store.truncate_log(clock.now()).await? {
            return Ok(());
        }
        clock.sleep_until(clock.now() + LOG_TRUNCATION_TRY_MS).await;
    }
    tracing::info!("write-ahead log is being read; it keeps what was deleted until a later run empties it");
    Ok(())
}

/// Deletes objects that are no longer in use, and those that never were.
pub async fn objects(services: &Services, now: i64) -> Result<(), StoreError> {
    let config = services.config();
    let Some(object_store) = &config.object_store else { return Ok(()) };
    let swept = objects::sweep(&services.store, now, object_store.delete_after.0).await;
    let waiting = objects::waiting(&services.store).await?;
    metrics::gauge!("overnight_objects_waiting").set(waiting.objects as f64);
    metrics::gauge!("overnight_objects_waiting_bytes").set(waiting.bytes as f64);
    swept.map(drop)
}

/// Asks the payment provider for orders without a notice.
pub async fn payment_checks(services: &Services, now: i64) -> Result<(), StoreError> {
    payments::check_unnoticed(services, now).await
}

/// Stores when API keys were last used.
pub async fn key_usage_flusher(services: &Services) -> Result<(), StoreError> {
    api_keys::store_uses(services).await
}
