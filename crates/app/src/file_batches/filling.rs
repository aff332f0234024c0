//! Filling batches from files. Lines become requests in order, a piece of the file at a time and within the account's quotas. An account's
//! batches are filled one after the other, in order of creation.

use overnight_domain::files::BatchEndpoint;
use overnight_domain::requests::COMPLETION_WINDOW_MS;
use overnight_domain::scheduler::AccountKey;
use overnight_store::StoreError;
use overnight_store::batches::{self, FillLine, FillStep, Filled, Filling};
use overnight_store::files::{self, Piece};

use super::traced::Drawn;
use crate::Services;
use crate::batches::cancel;
use crate::errors::AppError;
use crate::files::lines::{self, Asked};
use crate::parsing::parse;
use crate::requests::{rate_allows, take_rate};

/// Another node takes over a batch that was idle for this many milliseconds.
const STALE_MS: i64 = 15_000;

/// The pause of an account that has reached its quotas, in milliseconds.
const PAUSE_MS: i64 = 2_000;

/// Why filling stopped for now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FillPause {
    /// No batch is left to fill, or another node fills it.
    Idle,
    /// The account has reached a quota for at least this many milliseconds.
    Waits(i64),
}

pub async fn list_filling(services: &Services) -> Result<Vec<AccountKey>, StoreError> {
    batches::list_filling(&services.store).await
}

/// Fills an account's batches as far as possible now. Cancels a batch whose completion window ends before it is filled.
pub async fn fill_account(services: &Services, account: AccountKey) -> Result<FillPause, AppError> {
    let stale_ms = if services.store.is_shared() { STALE_MS } else { 0 };
    loop {
        let now = services.clock.now();
        let claimed = batches::claim_filling(&services.store, account, now, now - stale_ms).await?;
        let Some(filling) = claimed else { return Ok(FillPause::Idle) };
        let filled = services
            .supervisor
            .item("filler_batches", filling.id, fill_batch(services, account, filling))
            .await;
        let Ok(filled) = filled else {
            give_up(services, account, &filling).await?;
            continue;
        };
        if let Some(pause) = filled? {
            batches::release_filling(&services.store, account, filling.batch).await?;
            return Ok(pause);
        }
    }
}

/// Fills a batch to its end, or until it must wait.
async fn fill_batch(
    services: &Services,
    account: AccountKey,
    mut filling: Filling,
) -> Result<Option<FillPause>, AppError> {
    loop {
        if services.clock.now() >= filling.created_at + COMPLETION_WINDOW_MS {
            give_up(services, account, &filling).await?;
            return Ok(None);
        }
        let Some(mut step) = next_step(services, account, filling).await? else {
            give_up(services, account, &filling).await?;
            return Ok(None);
        };
        let (count, ends_piece) = (step.lines.len(), step.ends_piece);
        let (began_at, drawn) = (step.now, Drawn::choose(&services.traces, &mut step));
        let filled = batches::fill(&services.store, step).await?;
        drawn.record(&services.traces, &filled, began_at);
        // The scheduler must learn of the last lines too; no other code reports them.
        let now = services.clock.now();
        services.signals.accepted(now + services.config().aggregation_period.0, now);
        match filled {
            Filled::Some(passed) if passed == count && ends_piece => {
                (filling.next_piece, filling.next_line) = (filling.next_piece + 1, 0);
            }
            Filled::Some(passed) => filling.next_line += passed as i64,
            Filled::Last | Filled::Over => return Ok(None),
            Filled::Empty => {
                give_up(services, account, &filling).await?;
                return Ok(None);
            }
            Filled::OverQuota(exceeded) => {
                return Ok(Some(FillPause::Waits(exceeded.retry_after_ms.clamp(PAUSE_MS, STALE_MS))));
            }
            Filled::InsufficientCredits => return Ok(Some(FillPause::Waits(PAUSE_MS))),
        }
    }
}

/// Ends a batch whose remaining lines cannot become requests.
async fn give_up(services: &Services, account: AccountKey, filling: &Filling) -> Result<(), AppError> {
    tracing::warn!(batch = %filling.id, "the rest of a batch's file makes no requests: the batch is cancelled");
    match cancel(services, account, filling.id).await {
        Ok(_) | Err(AppError::AlreadyEnded { .. } | AppError::NotFound(_)) => Ok(()),
        Err(error) => Err(error),
    }
}

/// The next lines of a batch: the rest of their piece, limited by what the account may create in this second. `None` at the end of the
/// file.
async fn next_step(
    services: &Services,
    account: AccountKey,
    filling: Filling,
) -> Result<Option<FillStep>, AppError> {
    let piece = files::next_piece(&services.store, filling.file, filling.next_piece).await?;
    let Some(Piece { content, .. }) = piece.filter(|piece| piece.place == filling.next_piece) else {
        return Ok(None);
    };
    let bytes = content.len();
    let make = move |services: &Services| {
        let lines =
            content.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).filter(|line| !line.is_empty());
        let skipped = usize::try_from(filling.next_line).unwrap_or(usize::MAX);
        let rest: Vec<_> = lines.skip(skipped).collect();
        // A line that panics creates no request; others do.
        let made = |line| {
            services
                .supervisor
                .item_now("filler_lines", filling.id, || made(services, account, &filling, line))
        };
        Ok(rest.into_iter().map(|line| made(line).unwrap_or_default()).collect::<Vec<_>>())
    };
    let mut lines = parse(services, account, bytes, make).await?;
    let mut allowed = 0;
    if !lines.is_empty() {
        take_rate(services, account).await;
        allowed = 1;
    }
    while allowed < lines.len() && rate_allows(services, account) {
        allowed += 1;
    }
    let ends_piece = allowed == lines.len();
    lines.truncate(allowed);
    Ok(Some(FillStep { filling, account, lines, ends_piece, now: services.clock.now() }))
}

/// `None` if the line cannot become a request any more.
fn made(services: &Services, account: AccountKey, filling: &Filling, line: &[u8]) -> Option<FillLine> {
    let line = lines::read(services, line, BatchEndpoint::parse_stored, filling.created_at).ok()?;
    let (mut request, failure) = match line.asked {
        Asked::Answer(request) => (request.into_coming(services, account).arrived().request, None),
        Asked::Refusal(refused) => {
            let (request, failure) = refused.into_request(services, account);
            (request, Some(failure))
        }
    };
    request.batch = Some(filling.batch);
    request.api_key = filling.api_key;
    request.expires_at = filling.created_at + COMPLETION_WINDOW_MS;
    Some(FillLine { request, failure })
}
