//! A follower of a batch: its position, and how it gets the next page.

use std::sync::Arc;

use axum::body::Bytes;
use axum::http::Method;
use overnight_app::ReadsFor;
use overnight_app::api_keys::Opened;
use overnight_app::batches::Ends;
use overnight_app::errors::AppError;
use overnight_base::clock::SharedClock;
use tokio::sync::{Notify, watch};
use tracing::Span;

use super::reader::read_page;
use crate::calls;
use crate::connections::asked_to_stop;
use crate::context::Shared;
use crate::counters;
use crate::feeds::{Format, Look, Member, Outcome, Page};

/// A follower of events without a chunk for this time gets a comment.
const KEEP_ALIVE_MS: i64 = 15_000;

/// A comment, which clients ignore.
const KEEP_ALIVE: Bytes = Bytes::from_static(b":\n\n");

pub(super) struct Follower {
    context: Shared,
    /// The result of the key's check when the call began.
    opened: Opened,
    ends: Ends,
    member: Member,
    /// The number of ends already sent or seen.
    place: i64,
    format: Format,
    stopping: watch::Receiver<bool>,
    reads: ReadsFor,
    /// The span of the call, which is answered before its batch ends.
    span: Span,
    /// Notified once another account has the place of the call.
    lost: Arc<Notify>,
}

impl Follower {
    pub(super) fn new(
        context: &Shared,
        opened: Opened,
        ends: Ends,
        member: Member,
        place: i64,
        format: Format,
        lost: Arc<Notify>,
    ) -> Self {
        let (context, stopping) = (Arc::clone(context), context.stop.subscribe());
        let (reads, span) = (ReadsFor::current(), Span::current());
        Self { context, opened, ends, member, place, format, stopping, reads, span, lost }
    }

    /// The next chunk; `None` once the batch has ended and everything was sent. Fails if the service stops, or another account has its
    /// place.
    pub(super) async fn next_chunk(mut self) -> Result<Option<(Bytes, Self)>, AppError> {
        let (mut stopping, lost) = (self.stopping.clone(), Arc::clone(&self.lost));
        let next = tokio::select! {
            biased;
            next = self.next_bytes() => next,
            () = asked_to_stop(&mut stopping) => Err(AppError::stopping()),
            () = lost.notified() => Err(AppError::Unavailable("another account has the place".to_owned())),
        };
        let next = next.inspect_err(|error| {
            let _in_call = self.span.enter();
            tracing::debug!(error = error.in_full(), "a follower was cut");
        })?;
        Ok(next.map(|bytes| (bytes, self)))
    }

    async fn next_bytes(&mut self) -> Result<Option<Bytes>, AppError> {
        loop {
            let page = match self.member.look(self.place) {
                Look::Page(page) => page,
                Look::Behind if *self.stopping.borrow() => return Err(AppError::stopping()),
                Look::Behind => Arc::new(self.catch_up().await?),
                Look::Ended(Outcome::Over) => return Ok(None),
                Look::Ended(Outcome::Failed) => return Err(AppError::stopping()),
                Look::Head => match self.wait().await {
                    Some(comment) => return Ok(Some(comment)),
                    None => continue,
                },
            };
            let bytes = page.behind(self.place, self.format);
            self.place = page.next();
            if !bytes.is_empty() {
                // The key may have been revoked since.
                self.check_key().await?;
                return Ok(Some(bytes));
            }
        }
    }

    async fn check_key(&self) -> Result<(), AppError> {
        let looked = calls::check_again(&self.context, self.opened, &Method::GET);
        self.reads.scope(looked).await.map_err(|_| AppError::InvalidApiKey)
    }

    /// The page at its position, which the feed no longer has.
    async fn catch_up(&self) -> Result<Page, AppError> {
        counters::count_followed_page("own");
        let read = async {
            let so_far = self.ends.so_far().await?.up_to(self.member.head());
            read_page(&self.context, &self.ends, self.place, so_far).await
        };
        self.reads.scope(read).await
    }

    /// Waits for more; returns a comment to keep the connection alive if that takes long.
    async fn wait(&mut self) -> Option<Bytes> {
        let clock: &SharedClock = &self.context.services.clock;
        if self.format == Format::Lines {
            // Clients of lines do not accept empty ones.
            self.member.wait().await;
            return None;
        }
        tokio::select! {
            biased;
            () = self.member.wait() => None,
            () = clock.sleep_until(clock.now() + KEEP_ALIVE_MS) => Some(KEEP_ALIVE),
        }
    }
}
