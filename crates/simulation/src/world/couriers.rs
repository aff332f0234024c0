//! Webhooks: events are claimed, tried and concluded, and the process may die between any two of these.

use std::collections::BTreeMap;
use std::sync::Arc;

use overnight_app::webhooks;
use overnight_domain::ids::EventId;
use overnight_domain::webhooks::{Answer, Next, after};
use overnight_store::StoreError;
use overnight_store::outbox::{self, AttemptResult, Claim, ClaimedEvents, Due, EventState};

use super::World;
use crate::broken::{Step, ensure};
use crate::chance::Chance;
use crate::events::{Duty, Event};
use crate::outcomes::Outcome;
use crate::tags::Tag;
use crate::texts;

/// Delays between tries, short so that all of them fit into the end of a run.
const DELAYS_MS: [i64; 4] = [5_000, 60_000, 300_000, 1_800_000];
/// Events of a lane that are claimed together.
const AT_ONCE: usize = 8;
const LOOK_MS: (i64, i64) = (1_000, 600_000);

/// A claimed event: its row, and the number of the try.
pub(super) type Claimed = (i64, i64);

#[derive(Debug, Default)]
pub(super) struct Couriers {
    /// The id and the bytes of each event, by row.
    sent: BTreeMap<i64, (EventId, Vec<u8>)>,
    /// Claims that are concluded, or whose process died.
    over: Vec<Claimed>,
    under_way: Vec<Claimed>,
}

impl Couriers {
    pub(super) fn fall(&mut self) {
        self.over.append(&mut self.under_way);
    }
}

impl World<'_> {
    pub(super) async fn look_into_outbox(&mut self, now: i64) -> Step {
        let store = self.life()?.store().clone();
        let mut due = Vec::new();
        for (lane, due_at) in outbox::list_lanes(&store).await? {
            if due_at <= now {
                due.extend(outbox::find_due(&store, lane, now, AT_ONCE).await?);
            }
        }
        let look_ms = self.chance.between(LOOK_MS.0, LOOK_MS.1);
        self.plan_duty(Duty::Courier, look_ms);
        if due.is_empty() {
            return Ok(());
        }
        let mut claims = Vec::with_capacity(due.len());
        for due in &due {
            claims.push(self.claim_of(due)?);
        }
        let operation = async move {
            let answer = outbox::claim(&store, claims, now).await;
            Outcome::EventsClaimed { due, answer }
        };
        self.begin(false, Box::pin(operation)).await
    }

    /// Every try of an event must send the same bytes.
    fn claim_of(&mut self, due: &Due) -> Step<Claim> {
        let payload = webhooks::payload(&due.payload);
        let text = String::from_utf8_lossy(&payload);
        ensure!(text.starts_with(r#"{"type":""#), "{} is no event: {text}", due.id);
        let Due { seq, number, url, .. } = due;
        Ok(Claim { seq: *seq, number: *number, url: url.clone(), payload })
    }

    pub(super) fn note_events_claimed(
        &mut self,
        due: Vec<Due>,
        answer: Result<ClaimedEvents, StoreError>,
    ) -> Step {
        let mut taken = answer?;
        for due in due {
            // An event is deleted with its subject.
            if !taken.contains_key(&due.seq) {
                let may_be_gone =
                    texts::tag_of_webhook(&due.url).is_some_and(|tag| self.oracle.may_be_gone(tag));
                ensure!(may_be_gone, "one process alone was refused the claim of {due:?}");
                continue;
            }
            let payload = webhooks::payload(&due.payload).to_vec();
            let sent = self.couriers.sent.entry(due.seq).or_insert_with(|| (due.id, payload.clone()));
            ensure!(*sent == (due.id, payload), "{} is told otherwise than before", due.id);
            self.couriers.under_way.push((due.seq, due.number + 1));
            let delay_ms = self.chance.between(0, 15_000);
            let failures = taken.remove(&due.seq).map_or(0, |claimed| claimed.failures);
            self.timeline.after(delay_ms, Event::Tried { due: Box::new(due), failures });
        }
        Ok(())
    }

    /// Ends a try; sometimes also reports one whose claim has ended.
    pub(super) async fn conclude_try(&mut self, due: &Due, failures: i64) -> Step {
        let now = self.timeline.now();
        let answer = draw_answer(&due.url, &mut self.chance);
        let failed = usize::try_from(failures).unwrap_or(0);
        // Ignored unless the answer is 429 or 503.
        let asked_ms = Some(self.chance.between(0, 3_600_000));
        let (state, due_at) = match after(&DELAYS_MS, failed, answer, asked_ms, self.chance.next()) {
            Next::Delivered => (EventState::Delivered, None),
            Next::Exhausted => (EventState::Exhausted, None),
            Next::Retry { after_ms } => (EventState::Live, Some(now + after_ms)),
        };
        match state {
            EventState::Delivered => self.summary.events_delivered += 1,
            EventState::Exhausted => self.summary.events_exhausted += 1,
            EventState::Live => {}
        }
        let (status, failure) = match answer {
            Answer::Status(status) => (Some(status), None),
            Answer::None => (None, Some("timed_out")),
        };
        let failures = failures + i64::from(state != EventState::Delivered);
        let claimed = (due.seq, due.number + 1);
        let result = AttemptResult {
            seq: claimed.0,
            number: claimed.1,
            started_at: now,
            duration_ms: 1,
            status,
            failure,
            failures,
            state,
            due_at,
            now,
        };
        let mut results = vec![(result.clone(), texts::tag_of_webhook(&due.url), false)];
        if !self.couriers.over.is_empty() && self.chance.strikes(100) {
            let (seq, number) = *self.chance.pick(&self.couriers.over);
            results.push((AttemptResult { seq, number, ..result }, None, true));
        }
        self.couriers.under_way.retain(|it| *it != claimed);
        self.couriers.over.push(claimed);
        for (result, tag, must_be_refused) in results {
            let store = self.life()?.store().clone();
            let operation = async move {
                let answer = outbox::record_attempt_results(&store, Arc::new([result])).await;
                Outcome::TryConcluded { tag, must_be_refused, answer }
            };
            self.begin(false, Box::pin(operation)).await?;
        }
        Ok(())
    }

    pub(super) fn note_try_concluded(
        &mut self,
        tag: Option<Tag>,
        must_be_refused: bool,
        answer: Result<Vec<bool>, StoreError>,
    ) -> Step {
        let counted = answer?;
        if counted == [false] && tag.is_some_and(|tag| self.oracle.may_be_gone(tag)) {
            return Ok(());
        }
        ensure!(counted == [!must_be_refused], "a try that is over {must_be_refused} counted {counted:?}");
        self.summary.fenced_writes += u64::from(must_be_refused);
        Ok(())
    }

    /// At the end nothing is due or in progress; only events that a clock set back has delayed may wait.
    pub(super) async fn check_outbox(&mut self) -> Step {
        let now = self.timeline.now();
        let lanes = outbox::list_lanes(self.life()?.store()).await?;
        let due = lanes.iter().find(|(_, due_at)| *due_at + LOOK_MS.1 < now);
        ensure!(due.is_none(), "an event is due and not told of at the end: {due:?}");
        Ok(())
    }
}

/// The first host works, the second fails sometimes, the third always, and the fourth sometimes says that it is gone.
fn draw_answer(url: &str, chance: &mut Chance) -> Answer {
    let per_thousand = match url.as_bytes().get("https://h".len()) {
        Some(b'0') => 0,
        Some(b'1') => 500,
        Some(b'2') => 1_000,
        _ => 300,
    };
    match chance.strikes(per_thousand) {
        false => Answer::Status(204),
        true if url.starts_with("https://h3") => Answer::Status(410),
        true => *chance.pick(&[Answer::None, Answer::Status(500), Answer::Status(302), Answer::Status(503)]),
    }
}
