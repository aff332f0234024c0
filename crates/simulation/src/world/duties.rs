//! The workers, and writes under ended leases, which must have no effect.

use overnight_app::{clock_checks, failures};
use overnight_domain::answers::Reader;
use overnight_domain::chat::parse_completion;
use overnight_domain::records::FailedAttempt;
use overnight_domain::scheduler::FailureCode;
use overnight_runtime::workers;
use overnight_store::queue::leases;
use overnight_store::queue::leases::ReleaseLease;
use overnight_store::queue::settle;
use overnight_store::queue::settle::Settlement;

use super::World;
use crate::broken::Step;
use crate::engines::Flight;
use crate::events::{Duty, Event, Late, LateKind};
use crate::outcomes::Outcome;
use crate::plan::MODELS;
use crate::texts;

impl World<'_> {
    pub(super) fn plan_duty(&mut self, duty: Duty, ms: i64) {
        self.timeline.after(ms, Event::Duty(duty));
    }

    /// The expirer runs in `ms`, and not before. In the service it runs each second.
    pub(super) fn plan_expirer(&mut self, ms: i64) {
        let Some(life) = &mut self.life else { return };
        if let Some(slot) = life.expirer.take() {
            self.timeline.cancel(slot);
        }
        life.expirer = Some(self.timeline.after(ms, Event::Duty(Duty::Expirer)));
    }

    pub(super) async fn begin_duty(&mut self, duty: Duty) -> Step {
        let now = self.timeline.now();
        match duty {
            Duty::Courier => return self.look_into_outbox(now).await,
            Duty::Filler => return self.fill().await,
            _ => {}
        }
        let services = self.life()?.services.clone();
        let operation = async move {
            let answer = match duty {
                Duty::ClockFollower { by_ms } => clock_checks::follow(&services, by_ms).await,
                Duty::Heartbeat => workers::heartbeat(&services, now).await,
                Duty::Expirer => workers::expirer(&services, now).await,
                Duty::BatchCancelResumer => workers::batch_cancel_resumer(&services, now).await,
                Duty::BatchDeletionResumer => workers::batch_deletion_resumer(&services).await,
                Duty::Files => workers::files(&services, now).await,
                Duty::Courier | Duty::Filler => Ok(()),
            };
            Outcome::Done { duty, now, answer }
        };
        self.begin(false, Box::pin(operation)).await
    }

    /// A late write under a lease. If the lease is known to have ended, it must have no effect; if it may be valid, only an engine's answer
    /// may have one.
    pub(super) async fn write_late(&mut self, late: Late) -> Step {
        let Late { lease, request, kind } = late;
        if self.life.is_none() {
            return Ok(());
        }
        let must_be_refused = self.leases.is_over(&lease);
        let now = self.timeline.now();
        let store = self.life()?.store().clone();
        match kind {
            LateKind::Completion => {
                let text = self.draw_text(request, &lease);
                let model = MODELS[self.oracle.request(request)?.model];
                let reader = Reader { client_model: model, is_charged: true, shares_cache: false };
                let Ok(completion) = parse_completion(texts::completion(&text).as_bytes(), reader) else {
                    return Ok(());
                };
                self.settle(Flight { lease, request }, text, completion, must_be_refused).await
            }
            LateKind::Failure | LateKind::ReleaseLease if !must_be_refused => Ok(()),
            LateKind::Failure => {
                let body = failures::result_body(FailureCode::EngineUnavailable, "a late write");
                let settlement = Settlement::failed(lease.clone(), body.into(), late_attempt(now), now);
                let operation = async move {
                    let answer = settle::settle(&store, settlement).await;
                    Outcome::WrittenLate { lease, must_be_refused, answer }
                };
                self.begin(false, Box::pin(operation)).await
            }
            LateKind::ReleaseLease => {
                let attempt = Some(late_attempt(now));
                let release = ReleaseLease { lease: lease.clone(), retry_at: now, attempt, suspect: false };
                let operation = async move {
                    let answer = leases::release_lease(&store, release).await;
                    Outcome::WrittenLate { lease, must_be_refused, answer }
                };
                self.begin(false, Box::pin(operation)).await
            }
        }
    }
}

fn late_attempt(now: i64) -> FailedAttempt {
    FailedAttempt::new(now, None, "a late write".to_owned())
}
