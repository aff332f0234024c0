//! One try: signed, sent, and judged.

use std::sync::Arc;

use bytes::Bytes;
use overnight_domain::webhooks::signature::{SigningSecret, sign};
use overnight_domain::webhooks::{Answer, Next, after};

use super::permits::Permit;
use crate::app::Services;
use crate::store::events::{Conclusion, Due, EventState};
use crate::webhooks::{Hold, Message, Sender};

/// A claimed event.
pub(super) struct Try {
    pub(super) due: Due,
    /// How often in a row it has failed.
    pub(super) failures: i64,
    pub(super) payload: Bytes,
    pub(super) secrets: Vec<SigningSecret>,
    pub(super) permit: Permit,
}

impl Try {
    /// Makes it.
    pub(super) async fn run(self, services: Services, sender: Arc<Sender>) -> Conclusion {
        let Self { due, failures, payload, secrets, permit } = self;
        let started_at = services.clock.now();
        let timestamp_s = started_at.div_euclid(1_000);
        let signature = sign(&secrets, &due.id.to_string(), timestamp_s, &payload);
        let permit: Hold = Arc::new(permit);
        let hold = Arc::clone(&permit);
        let message = Message { url: due.url, id: due.id, timestamp_s, signature, body: payload, hold };
        let tried = sender.send(message).await;
        drop(permit);
        if !matches!(tried.answer, Answer::Status(200..=299)) {
            tracing::debug!(event = %due.id, answer = ?tried.answer, failure = ?tried.failure, "webhook not delivered");
        }
        let now = services.clock.now();
        let delays_ms: Vec<i64> = services.config.webhooks.retries.iter().map(|delay| delay.0).collect();
        let failed = usize::try_from(failures).unwrap_or(0);
        let (state, due_at) = match after(&delays_ms, failed, tried.answer, chance(&services)) {
            Next::Delivered => (EventState::Delivered, None),
            Next::Exhausted => (EventState::Exhausted, None),
            Next::Retry { after_ms } => (EventState::Live, Some(now + after_ms)),
        };
        Conclusion {
            seq: due.seq,
            number: due.number + 1,
            started_at,
            duration_ms: tried.duration_ms,
            status: match tried.answer {
                Answer::Status(status) => Some(status),
                Answer::None => None,
            },
            failure: tried.failure.map(|failure| failure.as_str()),
            failures: failures + i64::from(state != EventState::Delivered),
            state,
            due_at,
            now,
        }
    }
}

fn chance(services: &Services) -> u64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&services.ids.random()[..8]);
    u64::from_le_bytes(bytes)
}
