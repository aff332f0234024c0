//! The watchdog checks once a second whether loops turn. It has its own thread, because a loop that never yields may block every thread of
//! the runtime.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::{io, process, thread};

use tokio::runtime::Builder;

use super::pulse::{ENDS_S, NOT_READY_S, Verdict};
use super::{Failure, Fault, Supervisor};
use crate::clock::SharedClock;

const LOOK_MS: i64 = 1_000;

/// A system that refuses threads this often has none left. Work that needs a thread would wait for ever: the runtime's own threads never
/// end.
const REFUSED_LOOKS_MAX: u32 = 3;

/// A process that must end and has not after this long is ended by the watchdog.
const EXIT_AFTER_S: u32 = 20;

impl Supervisor {
    pub fn start_watchdog(self: &Arc<Self>, clock: SharedClock) {
        let supervisor = Arc::downgrade(self);
        // A runtime that is dropped here, because there is no thread for it, would panic.
        let begin = move || match Builder::new_current_thread().enable_time().build() {
            Ok(runtime) => runtime.block_on(watch(supervisor, clock)),
            Err(error) => {
                if let Some(supervisor) = supervisor.upgrade() {
                    supervisor.not_started("watchdog", &error);
                }
            }
        };
        if let Err(error) = thread::Builder::new().name("watchdog".to_owned()).spawn(begin) {
            self.not_started("watchdog", &error);
        }
    }

    pub(super) fn look(&self) {
        self.panics.tick();
        if self.is_stopping() {
            return;
        }
        let looks: Vec<_> = self.loops().iter_mut().map(|(name, watched)| (*name, watched.look())).collect();
        for (name, verdict) in looks {
            match verdict {
                Verdict::Well => {}
                Verdict::Stalls => {
                    tracing::error!(
                        part = name,
                        seconds = NOT_READY_S,
                        "the loop makes no progress; the process is not ready"
                    );
                }
                Verdict::Ends => self.fail(name, Fault::Stalled(ENDS_S)),
            }
        }
    }
}

async fn watch(supervisor: Weak<Supervisor>, clock: SharedClock) {
    let (mut failed_for, mut threads) = (0, Threads::default());
    loop {
        clock.sleep_until(clock.now().saturating_add(LOOK_MS)).await;
        let Some(supervisor) = supervisor.upgrade() else { return };
        if supervisor.is_over.load(Ordering::Acquire) {
            return;
        }
        supervisor.look();
        if let Some(error) = threads.look(|| thread::Builder::new().spawn(|| {}).map(drop)) {
            supervisor.not_started("threads", &error);
        }
        let Some(failure) = supervisor.failure() else { continue };
        failed_for += 1;
        if failed_for >= EXIT_AFTER_S {
            end_process(&failure);
        }
    }
}

/// Whether the system still starts threads.
#[derive(Default)]
struct Threads {
    refused_for: u32,
}

impl Threads {
    /// Starts an idle thread; returns the error after several refusals in a row.
    fn look(&mut self, start: impl FnOnce() -> io::Result<()>) -> Option<io::Error> {
        let error = start().err();
        self.refused_for = if error.is_some() { self.refused_for + 1 } else { 0 };
        error.filter(|_| self.refused_for >= REFUSED_LOOKS_MAX)
    }
}

#[expect(clippy::exit, reason = "the process was told to end and hangs")]
fn end_process(failure: &Failure) -> ! {
    tracing::error!("the process has not ended after {EXIT_AFTER_S} s; it is ended");
    process::exit(failure.exit_code().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_system_that_refuses_threads_for_several_looks_has_none_left() {
        let mut threads = Threads::default();
        let refused = || Err(io::ErrorKind::WouldBlock.into());
        assert!(threads.look(refused).is_none() && threads.look(refused).is_none());
        assert!(threads.look(|| Ok(())).is_none());
        assert!(threads.look(refused).is_none() && threads.look(refused).is_none());
        assert_eq!(threads.look(refused).map(|error| error.kind()), Some(io::ErrorKind::WouldBlock));
    }
}
