//! Signals. Ctrl-C, SIGTERM and SIGQUIT request a stop; the second of them ends the process immediately. SIGHUP requests a reload of
//! settings, or a stop of a process without settings to reload. SIGUSR1, SIGUSR2, SIGALRM and SIGXFSZ have no effect and do not end the
//! process.

use tokio::sync::watch;

use self::signals::Signals;
use crate::errors::{CliError, Exit};

/// Whether the user requested a stop; clones share the state.
#[derive(Debug, Clone)]
pub(crate) struct Interrupt(watch::Receiver<bool>);

impl Interrupt {
    /// Handles signals from now on: the first one no longer ends the process.
    pub(crate) fn listen() -> Result<Self, CliError> {
        Self::listen_to(Signals::that_stop())
    }

    /// Like [`Self::listen`], for a process that stops when its terminal is closed, unless `nohup` has started it.
    pub(crate) fn listen_with_terminal() -> Result<Self, CliError> {
        Self::listen_to(Signals::that_stop().and_then(Signals::and_hangup))
    }

    fn listen_to(signals: std::io::Result<Signals>) -> Result<Self, CliError> {
        let mut signals = signals.map_err(|error| deaf(&error))?;
        let mut idle = Signals::that_ask_for_nothing().map_err(|error| deaf(&error))?;
        let (raise, raised) = watch::channel(false);
        tokio::spawn(async move {
            signals.next().await;
            raise.send_replace(true);
            signals.next().await;
            std::process::exit(Exit::Interrupted as i32);
        });
        tokio::spawn(async move {
            loop {
                let name = idle.next().await;
                tracing::warn!("{name} asks for nothing here, and is ignored");
            }
        });
        Ok(Self(raised))
    }

    pub(crate) fn is_raised(&self) -> bool {
        *self.0.borrow()
    }

    /// Ends when a stop is requested.
    pub(crate) async fn raised(&self) {
        let mut raised = self.0.clone();
        if raised.wait_for(|is_raised| *is_raised).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

fn deaf(error: &std::io::Error) -> CliError {
    CliError::unusable(format!("signals cannot be heard: {error}"))
}

/// SIGHUP. While this is held, the signal does not end the process.
#[derive(Debug)]
pub(crate) struct Hangups(Signals);

impl Hangups {
    pub(crate) fn listen() -> Result<Self, CliError> {
        Signals::that_reload().map(Self).map_err(|error| deaf(&error))
    }

    /// Ends if the signal arrived since the last call; several signals count as one.
    pub(crate) async fn next(&mut self) {
        self.0.next().await;
    }
}

mod signals {
    use std::future::poll_fn;
    use std::io;
    use std::task::Poll;

    use tokio::signal::unix::{Signal, SignalKind, signal};

    #[derive(Debug)]
    pub(super) struct Signals(Vec<(&'static str, Signal)>);

    impl Signals {
        pub(super) fn that_stop() -> io::Result<Self> {
            Self::of([
                ("SIGINT", SignalKind::interrupt()),
                ("SIGTERM", SignalKind::terminate()),
                ("SIGQUIT", SignalKind::quit()),
            ])
        }

        pub(super) fn that_ask_for_nothing() -> io::Result<Self> {
            // A write that exceeds `ulimit -f` then fails with an error. This signal is not logged: the log may be that file.
            drop(signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw()))?);
            Self::of([
                ("SIGUSR1", SignalKind::user_defined1()),
                ("SIGUSR2", SignalKind::user_defined2()),
                ("SIGALRM", SignalKind::alarm()),
            ])
        }

        pub(super) fn that_reload() -> io::Result<Self> {
            Self::of([("SIGHUP", SignalKind::hangup())])
        }

        /// Adds SIGHUP, unless the parent process has it ignored.
        pub(super) fn and_hangup(mut self) -> io::Result<Self> {
            if std::fs::read_to_string("/proc/self/status").is_ok_and(|status| !ignores_hangup(&status)) {
                self.0.extend(Self::that_reload()?.0);
            }
            Ok(self)
        }

        fn of<const N: usize>(kinds: [(&'static str, SignalKind); N]) -> io::Result<Self> {
            kinds
                .into_iter()
                .map(|(name, kind)| Ok((name, signal(kind)?)))
                .collect::<io::Result<_>>()
                .map(Self)
        }

        /// Returns the name of the next signal.
        pub(super) async fn next(&mut self) -> &'static str {
            poll_fn(|context| {
                let mut all = self.0.iter_mut();
                let came =
                    all.find_map(|(name, signal)| signal.poll_recv(context).is_ready().then_some(*name));
                came.map_or(Poll::Pending, Poll::Ready)
            })
            .await
        }
    }

    /// Whether the first bit of the mask of ignored signals is set.
    fn ignores_hangup(status: &str) -> bool {
        let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_none_or(|mask| mask & 1 == 1)
    }

    #[cfg(test)]
    mod tests {
        use super::ignores_hangup;

        #[test]
        fn a_hangup_that_nohup_has_ignored_is_told_from_one_that_counts() {
            assert!(ignores_hangup("Name:\tx\nSigIgn:\t0000000000001001\n"));
            assert!(!ignores_hangup("Name:\tx\nSigIgn:\t0000000000001000\n"));
            assert!(ignores_hangup("Name:\tx\n"), "nobody knows");
        }
    }
}
