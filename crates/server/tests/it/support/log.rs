//! Records the service's log.

use std::cell::RefCell;
use std::io::{self, Write};
use std::sync::Once;

use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

thread_local! {
    static KEPT: RefCell<Option<Vec<u8>>> = const { RefCell::new(None) };
}

/// Records the lines that this thread logs, until it is dropped. In a single-threaded runtime these are all of the service's lines.
pub(crate) struct Log(());

impl Log {
    /// Starts recording at the level `debug`.
    pub(crate) fn keep() -> Self {
        static BEGUN: Once = Once::new();
        // One subscriber for all threads: a line first logged by a thread without one would be disabled forever.
        BEGUN.call_once(|| {
            let log = tracing_subscriber::fmt().with_max_level(LevelFilter::TRACE);
            let filter = Targets::new().with_target("overnight_", LevelFilter::DEBUG);
            log.with_ansi(false).with_writer(|| Keeper).finish().with(filter).init();
        });
        KEPT.set(Some(Vec::new()));
        Self(())
    }

    pub(crate) fn lines_with(&self, text: &str) -> Vec<String> {
        let Self(()) = self;
        let kept = KEPT
            .with_borrow(|kept| String::from_utf8_lossy(kept.as_deref().unwrap_or_default()).into_owned());
        kept.lines().filter(|line| line.contains(text)).map(str::to_owned).collect()
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        KEPT.set(None);
    }
}

/// Writes to the thread's record.
struct Keeper;

impl Write for Keeper {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        KEPT.with_borrow_mut(|kept| kept.iter_mut().for_each(|kept| kept.extend_from_slice(bytes)));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
