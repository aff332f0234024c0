//! One try: signed, sent, and judged.

use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;
use overnight_app::Services;
use overnight_domain::webhooks::signature::{SigningSecret, sign};
use overnight_domain::webhooks::{Answer, Next, after};
use overnight_outgoing::traces::{OpenSpan, SpanKind};
use overnight_outgoing::webhooks::{Failure, Hold, Message, Sender, Tried};
use overnight_store::outbox::{AttemptResult, Claimed, Due, EventState};
use tracing::field;

use super::NAME;
use super::permits::Permit;

pub(super) struct Try {
    pub(super) due: Due,
    pub(super) claimed: Claimed,
    pub(super) payload: Bytes,
    pub(super) secrets: Vec<SigningSecret>,
    pub(super) permit: Permit,
}

impl Try {
    /// Makes the try. A panic counts as a failure.
    pub(super) async fn run_to_an_end(self, services: Services, sender: Arc<Sender>) -> AttemptResult {
        let (id, seq, number, claimed) = (self.due.id, self.due.seq, self.due.number, self.claimed);
        let started_at = services.clock.now();
        let supervisor = Arc::clone(&services.supervisor);
        let ran = supervisor.item(NAME, id, self.run(services.clone(), sender)).await;
        ran.unwrap_or_else(|_| {
            let tried = Tried {
                answer: Answer::None,
                retry_after_ms: None,
                failure: Some(Failure::Broken),
                duration_ms: services.clock.now() - started_at,
            };
            result_of(&services, seq, number, claimed, started_at, &tried)
        })
    }

    async fn run(self, services: Services, sender: Arc<Sender>) -> AttemptResult {
        let Self { due, claimed, payload, secrets, permit } = self;
        let started_at = services.clock.now();
        // The receiver compares it with its own clock.
        let timestamp_s = services.clock.machine_now().div_euclid(1_000);
        let signature = sign(&secrets, &due.id.to_string(), timestamp_s, &payload);
        let permit: Hold = Arc::new(permit);
        let hold = Arc::clone(&permit);
        let span = due
            .trace
            .and_then(|trace| services.traces.begin(trace, "deliver webhook".to_owned(), SpanKind::Client));
        let traceparent = span.as_ref().map(OpenSpan::traceparent);
        let message =
            Message { url: due.url, id: due.id, timestamp_s, signature, body: payload, traceparent, hold };
        let tried = sender.send(message).await;
        drop(permit);
        if let Some(mut span) = span {
            span.set("overnight.event.id", due.id.to_string());
            due.request.iter().for_each(|request| span.set("overnight.request.id", request.to_string()));
            if let Answer::Status(status) = tried.answer {
                span.set("http.response.status_code", i64::from(status));
            }
            span.end(error_of(&tried));
        }
        if !matches!(tried.answer, Answer::Status(200..=299)) {
            let request = due.request.map(field::display);
            tracing::debug!(event = %due.id, request, answer = ?tried.answer, failure = ?tried.failure, "webhook not delivered");
        }
        result_of(&services, due.seq, due.number, claimed, started_at, &tried)
    }
}

fn result_of(
    services: &Services,
    seq: i64,
    number: i64,
    claimed: Claimed,
    started_at: i64,
    tried: &Tried,
) -> AttemptResult {
    let now = services.clock.now();
    let delays_ms: Vec<i64> = services.config().webhooks.retries.iter().map(|delay| delay.0).collect();
    let (state, due_at) = match judge(&delays_ms, claimed, tried, chance(services)) {
        Next::Delivered => (EventState::Delivered, None),
        Next::Exhausted => (EventState::Exhausted, None),
        Next::Retry { after_ms } => (EventState::Live, Some(now + after_ms)),
    };
    AttemptResult {
        seq,
        number: number + 1,
        started_at,
        duration_ms: tried.duration_ms,
        status: match tried.answer {
            Answer::Status(status) => Some(status),
            Answer::None => None,
        },
        failure: tried.failure.map(Failure::as_str),
        failures: claimed.failures + i64::from(state != EventState::Delivered),
        state,
        due_at,
        now,
    }
}

fn error_of(tried: &Tried) -> Option<Cow<'static, str>> {
    match tried.answer {
        Answer::Status(200..=299) => None,
        Answer::Status(status) => Some(status.to_string().into()),
        Answer::None => Some(tried.failure.map_or("no_answer", |failure| failure.as_str()).into()),
    }
}

/// What to do with a claimed event after this outcome.
fn judge(schedule_ms: &[i64], claimed: Claimed, tried: &Tried, chance: u64) -> Next {
    // There is one delay fewer than tries.
    let retries = claimed.tries_max.map_or(usize::MAX, |tries| tries.saturating_sub(1) as usize);
    let delays_ms = &schedule_ms[..schedule_ms.len().min(retries)];
    let failures = usize::try_from(claimed.failures).unwrap_or(0);
    after(delays_ms, failures, tried.answer, tried.retry_after_ms, chance)
}

fn chance(services: &Services) -> u64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&services.ids.random()[..8]);
    u64::from_le_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_span_of_a_try_names_the_status_or_the_failure_as_its_error() {
        let error_of = |answer, failure| {
            error_of(&Tried { answer, retry_after_ms: None, failure, duration_ms: 0 }).map(Cow::into_owned)
        };
        for (status, expected) in
            [(199, Some("199")), (200, None), (299, None), (300, Some("300")), (503, Some("503"))]
        {
            assert_eq!(error_of(Answer::Status(status), None).as_deref(), expected);
        }
        for (failure, expected) in [(Some(Failure::Tls), "tls"), (None, "no_answer")] {
            assert_eq!(error_of(Answer::None, failure).as_deref(), Some(expected));
        }
    }

    #[test]
    fn an_event_is_given_up_after_as_many_failed_tries_as_it_may_have() {
        let judge = |failures, tries_max, answer| {
            let tried = Tried { answer, retry_after_ms: None, failure: None, duration_ms: 0 };
            judge(&[10, 20], Claimed { failures, tries_max }, &tried, 0)
        };
        for (failures, tries_max) in
            [(0, Some(1)), (0, Some(0)), (1, Some(1)), (1, Some(2)), (2, Some(9)), (2, None)]
        {
            assert_eq!(
                judge(failures, tries_max, Answer::None),
                Next::Exhausted,
                "{failures} of {tries_max:?}"
            );
            assert_eq!(judge(failures, tries_max, Answer::Status(200)), Next::Delivered);
        }
        for (failures, tries_max) in [(0, Some(2)), (1, Some(3)), (1, None)] {
            let next = judge(failures, tries_max, Answer::Status(500));
            assert!(matches!(next, Next::Retry { .. }), "{failures} of {tries_max:?}: {next:?}");
        }
    }
}
