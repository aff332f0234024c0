//! Panics: their places in the code, and whether one place fails for several items.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt::{self, Display};
use std::panic::{self, AssertUnwindSafe};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

use futures_util::FutureExt;

/// This many different items that panic at one place end the process.
const ITEMS_MAX: usize = 3;

/// How many ticks of the watchdog an item is remembered for: a minute.
const REMEMBERED_TICKS: u64 = 60;

/// The place in the code at which a thread panicked.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Panic(String);

impl Display for Panic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

thread_local! {
    static LAST: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Installs a hook by which each thread notes the place of its panic. The previous hook runs after it.
pub(super) fn note_locations() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            LAST.set(info.location().map(ToString::to_string));
            before(info);
        }));
    });
}

pub(super) fn last() -> Panic {
    Panic(LAST.take().unwrap_or_else(|| "an unknown place".to_owned()))
}

/// Runs `work`, or returns the place of its panic.
pub(super) fn caught<T>(work: impl Future<Output = T>) -> impl Future<Output = Result<T, Panic>> {
    // The thread that polls a future to its panic is the thread that catches it.
    AssertUnwindSafe(work).catch_unwind().map(|caught| caught.map_err(|_| last()))
}

pub(super) fn begin_counter(name: &'static str) {
    metrics::counter!("overnight_panics_total", "loop" => name).increment(0);
}

pub(super) fn report(name: &'static str, item: &dyn Display, panic: &Panic) {
    count(name);
    tracing::error!(part = name, %item, "panicked at {panic}; the item is set aside");
}

pub(super) fn count(name: &'static str) {
    metrics::counter!("overnight_panics_total", "loop" => name).increment(1);
}

/// The items that panicked within the last minute, by place.
#[derive(Default)]
pub(super) struct Panics(Mutex<Recent>);

#[derive(Default)]
struct Recent {
    tick: u64,
    /// The tick of the last panic of each item. One place has at most [`ITEMS_MAX`].
    items: BTreeMap<Panic, BTreeMap<String, u64>>,
}

impl Panics {
    /// Notes the panic of an item; returns whether enough items have panicked at this place to end the process. A repeated item counts
    /// once.
    pub(super) fn is_of_many_items(&self, panic: &Panic, item: String) -> bool {
        let mut recent = self.recent();
        let tick = recent.tick;
        let items = recent.items.entry(panic.clone()).or_default();
        items.retain(|_, at| tick - *at < REMEMBERED_TICKS);
        if items.len() < ITEMS_MAX {
            items.insert(item, tick);
        }
        items.len() >= ITEMS_MAX
    }

    /// A second has passed.
    pub(super) fn tick(&self) {
        self.recent().tick += 1;
    }

    fn recent(&self) -> MutexGuard<'_, Recent> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_items_within_a_minute_are_many_and_one_item_that_repeats_is_not() {
        let panics = Panics::default();
        let (here, there) = (Panic("here".to_owned()), Panic("there".to_owned()));
        let is_many = |place: &Panic, item: &str| panics.is_of_many_items(place, item.to_owned());
        for _ in 0..9 {
            assert!(!is_many(&here, "one"));
        }
        assert!(!is_many(&here, "two") && !is_many(&there, "three"));
        (0..REMEMBERED_TICKS).for_each(|_| panics.tick());
        assert!(!is_many(&here, "three") && !is_many(&here, "four"), "the first two are forgotten");
        assert!(is_many(&here, "five"));
    }
}
