//! Waiting.

use std::time::Duration;

#[allow(clippy::disallowed_methods, reason = "a client lives in real time; no simulation runs it")]
pub(crate) async fn pause(duration: Duration) {
    tokio::time::sleep(duration).await;
}
