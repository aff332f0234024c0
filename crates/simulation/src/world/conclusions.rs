//! Effects of outcomes on the world.

use overnight_app::batches::WholeBatch;
use overnight_app::errors::AppError;
use overnight_domain::ids::RequestId;
use overnight_domain::records::RequestRecord;
use overnight_domain::requests::RequestStatus;
use overnight_domain::scheduler::{Lease, SchedulerCommand, SchedulerInput};
use overnight_store::queue;
use overnight_store::queue::expiry;

use super::World;
use super::scheduling::TELL_MS;
use crate::broken::{Broken, Step, ensure};
use crate::engines::Flight;
use crate::events::{Duty, Event};
use crate::oracle::Offer;
use crate::outcomes::Outcome;
use crate::tags::Tag;

const HEARTBEAT_MS: i64 = 15 * 60_000;
const BATCH_CANCEL_RESUMER_MS: i64 = 40 * 60_000;
const FILES_MS: i64 = 10 * 60_000;

impl World<'_> {
    pub(super) async fn conclude(&mut self, outcome: Outcome) -> Step {
        match outcome {
            Outcome::Created { request, sent_at, answer } => self.note_created(request, sent_at, answer),
            Outcome::Cancelled { request, answer } => self.note_cancelled(request, answer),
            Outcome::Grouped { batch, sent_at, answer } => self.note_grouped(batch, sent_at, answer),
            Outcome::KeyReused { tag, is_beside, error } => {
                self.note_key_reused(tag, is_beside, error.as_ref())
            }
            Outcome::GroupCancelled { batch, answer } => self.note_group_cancelled(batch, answer).await,
            Outcome::Performed { command, answer } => self.note_performed(&command, answer).await,
            Outcome::Settled { flight, text, must_be_refused, answer } => {
                self.note_settled(&flight, &text, must_be_refused, answer?).await
            }
            Outcome::WrittenLate { lease, must_be_refused, answer } => {
                self.note_late(&lease, must_be_refused, answer?)
            }
            Outcome::EventsClaimed { due, answer } => self.note_events_claimed(due, answer),
            Outcome::TryConcluded { tag, must_be_refused, answer } => {
                self.note_try_concluded(tag, must_be_refused, answer)
            }
            Outcome::Deleted { tag, answer } => self.note_deleted(tag, answer),
            Outcome::Filled { account, answer } => self.note_filled(account, answer).await,
            Outcome::Done { duty, now, answer } => {
                answer?;
                self.note_done(duty, now).await
            }
        }
    }

    fn note_cancelled(&mut self, request: Tag, answer: Result<RequestRecord, AppError>) -> Step {
        let may_be_gone = self.oracle.may_be_gone(request);
        let facts = self.oracle.request(request)?;
        match answer {
            Err(AppError::NotFound(_)) if may_be_gone => {}
            Ok(record) => {
                facts.is_cancel_acknowledged = true;
                facts.see_record(&record)?;
                self.summary.cancels_won += 1;
            }
            Err(AppError::AlreadyEnded { status, .. }) => {
                let is_cancelled = facts.is_cancel_acknowledged
                    || facts.state.is_some_and(|state| state.status() == RequestStatus::Cancelled);
                ensure!(!is_cancelled, "request {request} was cancelled, and is said to be {status}");
                self.summary.cancels_lost += 1;
            }
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    async fn note_group_cancelled(&mut self, batch: Tag, answer: Result<WholeBatch, AppError>) -> Step {
        self.cancelling.remove(&batch);
        match answer {
            Ok(whole) => {
                self.summary.batch_cancels += 1;
                self.oracle.batch(batch)?.is_cancel_acknowledged = true;
                self.see_batch(batch, &whole.record).await
            }
            Err(AppError::AlreadyEnded { .. }) => self.look_at_batch(batch).await,
            Err(AppError::NotFound(_)) if self.oracle.may_be_gone(batch) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    async fn note_performed(&mut self, command: &SchedulerCommand, answer: Option<SchedulerInput>) -> Step {
        match (command, answer) {
            (_, Some(SchedulerInput::Undone(command))) => {
                return Err(Broken(format!("the store did not do {command:?}")));
            }
            (
                SchedulerCommand::Lease { positions, .. },
                Some(SchedulerInput::Leased { replica, partition, leases, gone }),
            ) => {
                ensure!(
                    leases.len() + gone.len() == positions.len(),
                    "of {positions:?}, {leases:?} were leased and {gone:?} had gone"
                );
                for lease in &leases {
                    self.leases.take(lease)?;
                }
                self.fetch_prompts(&leases).await?;
                self.tell_soon(SchedulerInput::Leased { replica, partition, leases, gone });
            }
            (SchedulerCommand::ReleaseLease { lease, .. } | SchedulerCommand::Fail { lease, .. }, None) => {
                self.leases.end(lease);
            }
            (_, Some(input)) => self.tell_soon(input),
            (command, None) => return Err(Broken(format!("the store said nothing to {command:?}"))),
        }
        Ok(())
    }

    async fn fetch_prompts(&mut self, leases: &[Lease]) -> Step {
        let seqs: Vec<i64> = leases.iter().map(|lease| lease.key.position.seq).collect();
        let life = self.life()?;
        let prompts = queue::list_small_prompts(life.store(), &seqs).await?;
        life.prompts.extend(prompts.into_iter().map(|prompt| (prompt.seq, prompt)));
        Ok(())
    }

    fn tell_soon(&mut self, input: SchedulerInput) {
        let delay_ms = self.chance.between(0, TELL_MS);
        self.timeline.after(delay_ms, Event::Tell(input));
    }

    async fn note_settled(
        &mut self,
        flight: &Flight,
        text: &str,
        must_be_refused: bool,
        is_settled: bool,
    ) -> Step {
        let Flight { lease, request } = flight;
        self.note(format_args!("request {request} under {}: settled {is_settled}", lease.epoch));
        self.check_fenced(lease, must_be_refused, is_settled)?;
        let was_over = self.leases.is_over(lease);
        self.leases.end(lease);
        let facts = self.oracle.request(*request)?;
        facts.offers.insert(text.to_owned(), if is_settled { Offer::Taken } else { Offer::Refused });
        if is_settled || must_be_refused || was_over {
            return Ok(());
        }
        // Refused under a valid lease: the request has ended, or its batch is marked.
        self.summary.answers_outrun += 1;
        let (id, account, batch) = (facts.id, facts.account, facts.batch);
        let Some(id) = id else { return Ok(()) };
        let has_ended = self.look_at_request(account, id).await?;
        let is_marked = match batch {
            Some(batch) => self.is_marked(batch).await?,
            None => false,
        };
        ensure!(has_ended || is_marked, "the answer to request {request} was refused under its own lease");
        Ok(())
    }

    fn note_late(&mut self, lease: &Lease, must_be_refused: bool, is_done: bool) -> Step {
        self.check_fenced(lease, must_be_refused, is_done)?;
        self.leases.end(lease);
        Ok(())
    }

    fn check_fenced(&mut self, lease: &Lease, must_be_refused: bool, is_done: bool) -> Step {
        if must_be_refused {
            ensure!(!is_done, "a write under a lease that was over was done: {lease:?}");
            self.summary.fenced_writes += 1;
        }
        Ok(())
    }

    async fn note_done(&mut self, duty: Duty, now: i64) -> Step {
        match duty {
            Duty::Heartbeat => self.plan_duty(duty, HEARTBEAT_MS),
            Duty::BatchDeletionResumer => self.plan_duty(duty, BATCH_CANCEL_RESUMER_MS),
            Duty::Files => self.plan_duty(duty, FILES_MS),
            Duty::Courier | Duty::Filler | Duty::ClockFollower { .. } => {}
            Duty::BatchCancelResumer => {
                self.cancelling.clear();
                self.plan_duty(duty, BATCH_CANCEL_RESUMER_MS);
            }
            Duty::Expirer => {
                self.check_overdue(now).await?;
                self.plan_next_expiry().await?;
            }
        }
        Ok(())
    }

    /// The expirer runs again at the next deadline.
    pub(super) async fn plan_next_expiry(&mut self) -> Step {
        let next = expiry::next_deadline(self.life()?.store()).await?;
        if let Some(deadline) = next {
            let late_ms = self.chance.between(0, 1_000);
            self.plan_expirer((deadline - self.timeline.now()).max(0) + late_ms);
        }
        Ok(())
    }

    /// A request's identifier, if the client knows it.
    pub(super) fn id_of(&self, request: Tag) -> Option<RequestId> {
        self.oracle.requests.get(&request)?.id
    }
}
