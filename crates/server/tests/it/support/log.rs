//! What the service logs, for tests of what stands in its log.

use std::cell::RefCell;
use std::io::{self, Write};
use std::sync::Once;

use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

thread_local! {
    static KEPT: RefCell<Option<Vec<u8>>> = const { RefCell::new(None) };
}

/// The lines that this thread logs, for as long as this is there. A test whose runtime has no other threads sees all of its
/// service.
pub(crate) struct Log(());

impl Log {
    /// Keeps what is logged from here on, down to the level `debug`.
    pub(crate) fn keep() -> Self {
        static BEGUN: Once = Once::new();
        // One for all threads: what is logged first by a thread without one is taken for something that nobody wants.
        BEGUN.call_once(|| {
            let log = tracing_subscriber::fmt().with_max_level(LevelFilter::TRACE);
            let filter = Targets::new().with_target("overnight_server", LevelFilter::DEBUG);
            log.with_ansi(false).with_writer(|| Keeper).finish().with(filter).init();
        });
        KEPT.set(Some(Vec::new()));
        Self(())
    }

    /// The lines that hold `text`.
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

/// Writes to what its thread keeps.
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
