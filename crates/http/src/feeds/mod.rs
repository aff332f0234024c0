//! Feeds: one reader per followed batch for all of its followers.
//!
//! A follower asks for the page at its position. It finds it among the last pages; or it is behind them, and reads by itself until it has
//! caught up; or it is at the head, and waits there for the reader.
//!
//! Of each followed batch, a process has one *feed*: the pages that were read last, and one task that continues when a follower waits at
//! its head (`http/following/reader.rs`), so it never runs ahead of all followers. Commits of this process wake it
//! (`store/batch_watches.rs`); with PostgreSQL it looks each second for ends by other nodes. A follower that is behind the kept pages reads
//! by itself, so it delays no others, and memory is bounded. A page is rendered once in each format, and its memory is taken from the share
//! of its account.

mod pages;

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, watch};

pub(super) use self::pages::{Format, Page, write_event};

/// Pages kept for followers that are behind the head.
const PAGES_MAX: usize = 8;

/// Bytes of kept pages, except the last.
const BYTES_MAX: usize = 1 << 20;

/// The feeds of this process, by the row number of their batch.
#[derive(Clone, Default)]
pub(super) struct Feeds(Arc<Mutex<BTreeMap<i64, Arc<Feed>>>>);

/// The last pages of one batch.
pub(super) struct Feed {
    batch: i64,
    state: Mutex<State>,
    moved: watch::Sender<()>,
    wanted: Notify,
    deserted: Notify,
}

struct State {
    pages: VecDeque<Arc<Page>>,
    /// The position after which the reader continues.
    head: i64,
    outcome: Option<Outcome>,
    followers: usize,
    /// Followers that wait at the head.
    waiting: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// Every request of the batch has ended, and all of them were read.
    Over,
    Failed,
}

/// The feed's content at a position.
pub(super) enum Look {
    Page(Arc<Page>),
    /// Before the pages that are kept.
    Behind,
    /// At the head; the next page is not read yet.
    Head,
    /// After the end.
    Ended(Outcome),
}

pub(super) struct Member {
    feeds: Feeds,
    feed: Arc<Feed>,
    moved: watch::Receiver<()>,
}

impl Feeds {
    /// Joins the feed of a batch of which `ended` requests have ended; `read` starts the reader of a new feed.
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

    /// Whether there are no followers.
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

    /// Returns when a follower waits at the head.
    pub(super) async fn wanted(&self) {
        self.wanted.notified().await;
    }

    /// Returns when there are no followers any more.
    pub(super) async fn deserted(&self) {
        self.deserted.notified().await;
    }

    /// The position after which to read.
    pub(super) fn head(&self) -> i64 {
        self.lock().head
    }

    /// Publishes a page, unless it no longer begins at the head.
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

    /// Ends the feed for all followers, once they reach the head.
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
            // Followers that were at the old head read by themselves until they are here.
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
    pub(super) fn look(&mut self, place: i64) -> Look {
        self.moved.mark_unchanged();
        self.feed.lock().look(place)
    }

    /// The position up to which a follower that is behind reads by itself.
    pub(super) fn head(&self) -> i64 {
        self.feed.head()
    }

    /// Waits at the head for a change since the last look.
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
