//! Ctrl-C and SIGTERM: the first asks to stop, the second does not ask. SIGHUP asks to load the settings again.

use tokio::sync::watch;

use crate::errors::{CliError, Exit};

/// Whether the user asked to stop; clones see the same.
#[derive(Debug, Clone)]
pub(crate) struct Interrupt(watch::Receiver<bool>);

impl Interrupt {
    /// Begins to listen; from now on the first signal no longer ends the process.
    pub(crate) fn listen() -> Result<Self, CliError> {
        let mut signals = Signals::open()
            .map_err(|error| CliError::unusable(format!("signals cannot be heard: {error}")))?;
        let (raise, raised) = watch::channel(false);
        tokio::spawn(async move {
            signals.next().await;
            raise.send_replace(true);
            signals.next().await;
            std::process::exit(Exit::Interrupted as i32);
        });
        Ok(Self(raised))
    }

    /// Whether it was asked already.
    pub(crate) fn is_raised(&self) -> bool {
        *self.0.borrow()
    }

    /// Ends when it is asked.
    pub(crate) async fn raised(&self) {
        let mut raised = self.0.clone();
        if raised.wait_for(|is_raised| *is_raised).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

/// SIGHUP. While this is held, the signal does not end the process.
#[cfg(unix)]
#[derive(Debug)]
pub(crate) struct Hangups(tokio::signal::unix::Signal);

#[cfg(unix)]
impl Hangups {
    /// Begins to listen.
    pub(crate) fn listen() -> Result<Self, CliError> {
        let signals = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::hangup());
        signals.map(Self).map_err(|error| CliError::unusable(format!("signals cannot be heard: {error}")))
    }

    /// Ends when the signal came since the last time; several that came meanwhile count as one.
    pub(crate) async fn next(&mut self) {
        if self.0.recv().await.is_none() {
            std::future::pending::<()>().await;
        }
    }
}

/// There is no such signal here.
#[cfg(not(unix))]
#[derive(Debug)]
pub(crate) struct Hangups;

#[cfg(not(unix))]
impl Hangups {
    pub(crate) fn listen() -> Result<Self, CliError> {
        Ok(Self)
    }

    pub(crate) async fn next(&mut self) {
        std::future::pending::<()>().await;
    }
}

#[cfg(unix)]
struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn open() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self { interrupt: signal(SignalKind::interrupt())?, terminate: signal(SignalKind::terminate())? })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn open() -> std::io::Result<Self> {
        Ok(Self)
    }

    async fn next(&mut self) {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
