//! The one task that reads the ends of a batch for all of its followers in this process.

use std::sync::Arc;
use std::time::Duration;

use overnight_app::batches::{ENDED_PAGE_BYTES, EndedSoFar, Ends};
use overnight_app::errors::AppError;

use crate::connections::asked_to_stop;
use crate::context::Shared;
use crate::counters;
use crate::feeds::{Feed, Outcome, Page};
use crate::shares::{Buffer, Client};

/// The pause after a read that reached the end: later ends are read together.
const PAUSE: Duration = Duration::from_millis(50);

/// Reads for the followers of `feed` until there are none, the batch has ended, or the service stops.
pub(super) async fn read(context: Shared, ends: Ends, feed: Arc<Feed>) {
    let mut stopping = context.stop.subscribe();
    let outcome = tokio::select! {
        outcome = read_on(&context, &ends, &feed) => outcome,
        () = feed.deserted() => return,
        () = asked_to_stop(&mut stopping) => return feed.finish(Outcome::Failed),
    };
    let outcome = match outcome {
        Ok(()) => Outcome::Over,
        Err(error) => {
            tracing::error!(error = error.in_full(), "followers of a batch cut: reading its ends failed");
            Outcome::Failed
        }
    };
    feed.finish(outcome);
}

/// Returns once everything was read and no more requests can end.
async fn read_on(context: &Shared, ends: &Ends, feed: &Feed) -> Result<(), AppError> {
    let watch = ends.watch();
    loop {
        feed.wanted().await;
        let (place, so_far) = loop {
            let (place, so_far) = (feed.head(), ends.so_far().await?);
            if so_far.ended > place {
                break (place, so_far);
            }
            if so_far.is_over {
                return Ok(());
            }
            watch.more().await;
        };
        let page = read_page(context, ends, place, so_far).await?;
        counters::count_followed_page("shared");
        let has_all = page.next() >= so_far.ended;
        feed.publish(page);
        if has_all && !so_far.is_over {
            pause().await;
        }
    }
}

pub(super) async fn read_page(
    context: &Shared,
    ends: &Ends,
    place: i64,
    so_far: EndedSoFar,
) -> Result<Page, AppError> {
    let client = Client::Account(ends.account());
    let memory = context.shares.memory(Buffer::Responses, client, ENDED_PAGE_BYTES).await;
    let memory = memory.ok_or_else(AppError::stopping)?;
    Ok(Page::new(place, &ends.page(place, so_far).await?, memory))
}

#[expect(
    clippy::disallowed_methods,
    reason = "what is coalesced is no work of the service, and no test waits for it"
)]
async fn pause() {
    tokio::time::sleep(PAUSE).await;
}
