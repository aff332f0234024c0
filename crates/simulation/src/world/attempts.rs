//! Attempts at engines: the outcome for a leased request, and late writes under its lease.

use overnight_domain::answers::{BadCompletion, Completion, Reader};
use overnight_domain::chat::parse_completion;
use overnight_domain::scheduler::{AttemptError, Lease, ReplicaKey, SchedulerInput};
use overnight_store::queue::settle::{self, Settlement};

use super::World;
use super::scheduling::TELL_MS;
use crate::broken::Step;
use crate::engines::{Flight, Verdict, Weather};
use crate::events::{Client, Event, Late, LateKind};
use crate::oracle::Offer;
use crate::outcomes::Outcome;
use crate::plan::MODELS;
use crate::tags::Tag;
use crate::texts;

impl World<'_> {
    /// An engine finishes a request.
    pub(super) async fn answer(&mut self, replica: ReplicaKey, lease: &Lease) -> Step {
        let Some(flight) = self.engines.land(replica, lease) else { return Ok(()) };
        let nature = self.oracle.request(flight.request)?.nature;
        let verdict = self.engines.judge(replica, nature, &mut self.chance);
        let model = self.oracle.request(flight.request)?.model;
        let text = match verdict {
            Verdict::Answer => self.draw_text(flight.request, lease),
            Verdict::ForeignAnswer => self.draw_text(flight.request + 1, lease),
            Verdict::Nonsense(body) => {
                let reader = Reader { client_model: MODELS[model], is_charged: true, shares_cache: false };
                let error = match parse_completion(body.as_bytes(), reader) {
                    Ok(_) => AttemptError::Reset("unreachable".into()),
                    Err(BadCompletion::NotACompletion(why)) => AttemptError::NotACompletion(why),
                    Err(BadCompletion::Aborted(why)) => AttemptError::Aborted(why),
                    Err(BadCompletion::Reported { status: code, message }) => {
                        AttemptError::Status { code, message, retry_after_ms: None }
                    }
                    // The simulation ignores earlier attempts, so the first counts as the second.
                    Err(BadCompletion::NoUsage(why)) => AttemptError::BadUsage(why),
                };
                return self.fail(&flight, error);
            }
            Verdict::Error(error) => return self.fail(&flight, error),
            Verdict::Death => return self.kill(replica, &flight),
        };
        let reader = Reader { client_model: MODELS[model], is_charged: true, shares_cache: false };
        let completion = parse_completion(texts::completion(&text).as_bytes(), reader);
        let Ok(completion) = completion else { return Ok(()) };
        let (seq, usage) = (lease.key.position.seq, completion.usage);
        let completed = SchedulerInput::Completed { seq, cost: usage.cost(), tokens: usage.tokens() };
        let delay_ms = self.chance.between(0, TELL_MS);
        self.timeline.after(delay_ms, Event::Tell(completed));
        if self.chance.strikes(30) {
            self.timeline.after(0, Event::Client(Client::Cancel(flight.request)));
        }
        if self.chance.strikes(30) {
            self.haunt(&flight, 1_000, 60_000);
        }
        let must_be_refused = self.leases.is_over(lease);
        self.settle(flight, text, completion, must_be_refused).await
    }

    pub(super) async fn settle(
        &mut self,
        flight: Flight,
        text: String,
        completion: Completion,
        must_be_refused: bool,
    ) -> Step {
        let now = self.timeline.now();
        self.oracle.request(flight.request)?.offers.insert(text.clone(), Offer::Open);
        let store = self.life()?.store().clone();
        let operation = async move {
            let settlement = Settlement::completed(flight.lease.clone(), completion, now);
            let answer = settle::settle(&store, settlement).await;
            Outcome::Settled { flight, text, must_be_refused, answer }
        };
        self.begin(false, Box::pin(operation)).await
    }

    /// Unique for each answer.
    pub(super) fn draw_text(&mut self, request: Tag, lease: &Lease) -> String {
        format!("answer to question {request}, lease {}, {:x}", lease.epoch, self.chance.next())
    }

    /// An attempt failed. A lost connection does not stop the engine: it may still answer.
    pub(super) fn fail(&mut self, flight: &Flight, error: AttemptError) -> Step {
        self.summary.attempts_failed += 1;
        let facts = self.oracle.request(flight.request)?;
        match &error {
            AttemptError::Status { code: 400..=499, .. } => facts.refusals += 1,
            AttemptError::NotACompletion(_) | AttemptError::NoUsage(_) | AttemptError::BadUsage(_) => {
                facts.nonsense += 1;
            }
            _ => {}
        }
        facts.troubles += 1;
        if matches!(error, AttemptError::Reset(_) | AttemptError::TimedOut(_)) {
            self.haunt(flight, 300, 120_000);
        }
        let seq = flight.lease.key.position.seq;
        let delay_ms = self.chance.between(0, TELL_MS);
        self.timeline.after(delay_ms, Event::Tell(SchedulerInput::AttemptFailed { seq, error }));
        Ok(())
    }

    /// A request kills an engine, which fails all its requests in flight and restarts soon.
    fn kill(&mut self, replica: ReplicaKey, flight: &Flight) -> Step {
        let (weather, down_ms) = (self.engines.weather(replica), self.chance.between(500, 30_000));
        self.fail(flight, AttemptError::Reset("died".into()))?;
        self.change_weather(replica, Weather::Down)?;
        self.timeline.after(down_ms, Event::Weather { replica, weather });
        Ok(())
    }

    /// Sometimes schedules a late write under this lease.
    pub(super) fn haunt(&mut self, flight: &Flight, per_thousand: i64, ms_max: i64) {
        if self.chance.strikes(per_thousand) {
            let kind = *self.chance.pick(&[
                LateKind::Completion,
                LateKind::Completion,
                LateKind::Completion,
                LateKind::Failure,
                LateKind::ReleaseLease,
            ]);
            let late = Late { lease: flight.lease.clone(), request: flight.request, kind };
            let delay_ms = self.chance.between(0, ms_max);
            self.timeline.after(delay_ms, Event::Late(late));
        }
    }
}
