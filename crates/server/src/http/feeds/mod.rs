//! What many follow and one reads: of each batch that somebody follows, the ends that were read last, for all of its followers.
//!
//! A follower asks for the page at its place. It finds it among the last pages; or it is behind them, and reads by itself until it
//! has caught up; or it is at the head, and waits there for the reader. The reader reads on only for followers that wait, so it
//! never runs ahead of all of them, and pages that nobody is behind are dropped.
//!
//! One reads for all who follow. Of each batch that is followed, a process has one *feed* (`http/feeds`): the pages that were read
//! last, and one task that reads on when a follower waits at its head (`http/following/reader.rs`). Commits of this process wake it
//! (`store/batch_watches.rs`); with PostgreSQL it looks each second for ends by other nodes. A follower that is behind the kept pages
//! reads by itself until it has caught up, so nobody waits for a slow one and memory is bounded. A page is rendered once in each
//! format, and its memory is taken from the share of its account.

mod pages;

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, watch};

pub(super) use self::pages::{Format, Page, write_event};

/// Pages that are kept for followers that are behind the head.
const PAGES_MAX: usize = 8;

/// Bytes of them, beside those of the last page.
const BYTES_MAX: usize = 1 << 20;

/// The feeds of this process, by the row number of their batch.
#[derive(Clone, Default)]
pub(super) struct Feeds(Arc<Mutex<BTreeMap<i64, Arc<Feed>>>>);

/// What was read last of one batch.
pub(super) struct Feed {
    batch: i64,
    state: Mutex<State>,
    moved: watch::Sender<()>,
    wanted: Notify,
    deserted: Notify,
}

struct State {
    pages: VecDeque<Arc<Page>>,
    /// The place behind which the reader reads on.
    head: i64,
    outcome: Option<Outcome>,
    followers: usize,
    /// Those that wait at the head.
    waiting: usize,
}

/// How a feed ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// Every request of the batch has ended, and all of them were read.
    Over,
    /// Reading failed.
    Failed,
}

/// What there is at a place.
pub(super) enum Look {
    /// It lies in this page.
    Page(Arc<Page>),
    /// It lies before the pages that are kept.
    Behind,
    /// Nothing yet.
    Head,
    /// Nothing any more.
    Ended(Outcome),
}

/// A follower of a feed.
pub(super) struct Member {
    feeds: Feeds,
    feed: Arc<Feed>,
    moved: watch::Receiver<()>,
}

impl Feeds {
    /// Joins the feed of a batch, of which so many requests have ended; a new one is to be read by what `read` starts.
    pub(super) fn join(&self, batch: i64, ended: i64, read: impl FnOnce(Arc<Feed>)) -> Member {
        let mut feeds = self.lock();
        let running = feeds.get(&batch).filter(|feed| feed.lock().outcome.is_none()).cloned();
        let feed = running.unwrap_or_else(|| {
            let feed = Arc::new(Feed::new(batch, ended));
            feeds.insert(batch, Arc::clone(&feed));
            read(Arc::clone(&feed));
            feed
        });
        feed.lock().followers += 1;
        let moved = feed.moved.subscribe();
        Member { feeds: self.clone(), feed, moved }
    }

    /// Whether nobody follows anything.
    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<i64, Arc<Feed>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Feed {
    fn new(batch: i64, head: i64) -> Self {
        let state = State { pages: VecDeque::new(), head, outcome: None, followers: 0, waiting: 0 };
        let (moved, _) = watch::channel(());
        Self { batch, state: Mutex::new(state), moved, wanted: Notify::new(), deserted: Notify::new() }
    }

    /// Ends when a follower has come to the head.
    pub(super) async fn wanted(&self) {
        self.wanted.notified().await;
    }

    /// Ends when nobody follows any more.
    pub(super) async fn deserted(&self) {
        self.deserted.notified().await;
    }

    /// The place behind which is to be read.
    pub(super) fn head(&self) -> i64 {
        self.lock().head
    }

    /// Hands out what was read, unless it lies elsewhere than at the head by now.
    pub(super) fn publish(&self, page: Page) {
        let mut state = self.lock();
        if page.first() == state.head {
            state.head = page.next();
            state.pages.push_back(Arc::new(page));
            state.trim();
        }
        drop(state);
        self.moved.send_replace(());
    }

    /// Ends it for all followers, once they have come to the head.
    pub(super) fn finish(&self, outcome: Outcome) {
        self.lock().outcome = Some(outcome);
        self.moved.send_replace(());
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn look(&mut self, place: i64) -> Look {
        if let Some(page) = self.pages.iter().find(|page| page.holds(place)) {
            return Look::Page(Arc::clone(page));
        }
        if place < self.head {
            return Look::Behind;
        }
        if place > self.head {
            // Those that were at the head before read by themselves until they are here.
            self.head = place;
            self.pages.clear();
        }
        self.outcome.map_or(Look::Head, Look::Ended)
    }

    fn trim(&mut self) {
        let mut bytes: usize = self.pages.iter().map(|page| page.bytes()).sum();
        while self.pages.len() > 1 && (self.pages.len() > PAGES_MAX || bytes > BYTES_MAX) {
            bytes -= self.pages.pop_front().map_or(0, |page| page.bytes());
        }
    }
}

impl Member {
    /// What there is at `place`.
    pub(super) fn look(&mut self, place: i64) -> Look {
        self.moved.mark_unchanged();
        self.feed.lock().look(place)
    }

    /// The place up to which one that is behind reads by itself.
    pub(super) fn head(&self) -> i64 {
        self.feed.head()
    }

    /// Waits at the head until something has changed since the last look.
    pub(super) async fn wait(&mut self) {
        let _waiting = Waiting::begin(&self.feed);
        self.feed.wanted.notify_one();
        // The sender lives as long as the feed.
        let _ = self.moved.changed().await;
    }
}

/// A follower that waits at the head of its feed.
struct Waiting<'f>(&'f Feed);

impl<'f> Waiting<'f> {
    fn begin(feed: &'f Feed) -> Self {
        let mut state = feed.lock();
        state.waiting += 1;
        if state.waiting == state.followers {
            state.pages.clear();
        }
        Self(feed)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.lock().waiting -= 1;
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        let mut feeds = self.feeds.lock();
        let mut state = self.feed.lock();
        state.followers -= 1;
        if state.followers == 0 {
            if feeds.get(&self.feed.batch).is_some_and(|feed| Arc::ptr_eq(feed, &self.feed)) {
                feeds.remove(&self.feed.batch);
            }
            self.feed.deserted.notify_one();
        }
    }
}
