//! Filling batches from their files: the lines of a file become requests in their order, as many at a time as stand in a piece of it and as
//! its account may have. An account's batches are filled one after the other, in the order in which they were made.

use overnight_domain::files::BatchEndpoint;
use overnight_domain::requests::COMPLETION_WINDOW_MS;
use overnight_domain::scheduler::AccountKey;

use super::traced::Drawn;
use crate::app::Services;
use crate::app::batches::cancel;
use crate::app::errors::AppError;
use crate::app::files::lines::{self, Asked};
use crate::app::parsing::parse;
use crate::app::requests::{rate_allows, take_rate};
use crate::store::StoreError;
use crate::store::batches::{self, FillLine, FillStep, Filled, Filling};
use crate::store::files::{self, Piece};

/// Another node takes over what none has worked on for so long, in milliseconds.
const STALE_MS: i64 = 15_000;

/// How long an account waits that uses all that it may, in milliseconds.
const PAUSE_MS: i64 = 2_000;

/// Why an account's batches are filled no further for now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FillPause {
    /// There is nothing to fill, or another node does it.
    Idle,
    /// The account uses all that it may until so many milliseconds have passed, or more.
    Waits(i64),
}

/// The accounts that have batches to be filled.
pub async fn list_filling(services: &Services) -> Result<Vec<AccountKey>, StoreError> {
    batches::list_filling(&services.store).await
}

/// Fills the batches of an account until there is nothing more to do for now. A batch whose completion window ends before it is filled
/// is cancelled.
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

/// Fills a batch to its end, or until something is to be waited for.
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
        // The last lines are told of like all others: nobody else tells the scheduler.
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

/// Ends a batch whose rest cannot become requests.
async fn give_up(services: &Services, account: AccountKey, filling: &Filling) -> Result<(), AppError> {
    tracing::warn!(batch = %filling.id, "the rest of a batch's file makes no requests: the batch is cancelled");
    match cancel(services, account, filling.id).await {
        Ok(_) | Err(AppError::AlreadyEnded { .. } | AppError::NotFound(_)) => Ok(()),
        Err(error) => Err(error),
    }
}

/// The next lines of a batch: up to the end of their piece, and no more than the account may create in this second. `None` where the file
/// has no more.
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
        // A line that panics makes no request, and the others do.
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

/// The request of a line; `None` where it makes none any more.
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
