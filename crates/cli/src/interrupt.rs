//! Ctrl-C and SIGTERM: the first asks to stop, the second does not ask.

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
