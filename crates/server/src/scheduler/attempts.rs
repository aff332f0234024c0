//! One attempt: a leased request goes to an engine, and its answer to the store.

use std::sync::Arc;

use overnight_domain::scheduler::{Lease, ReplicaKey, SchedulerCommand, SchedulerInput};
use tokio::sync::mpsc::UnboundedSender;
use tracing::{Instrument, Span, field};

use super::commands;
use super::prompts::Prompts;
use super::replicas::Replicas;
use crate::clock::SharedClock;
use crate::store::queue::settle::Settlement;

/// What every attempt needs.
pub(super) struct Attempts {
    pub(super) clock: SharedClock,
    pub(super) replicas: Arc<Replicas>,
    pub(super) prompts: Arc<Prompts>,
    pub(super) answers: UnboundedSender<SchedulerInput>,
    /// To `settler::run`, which stores them.
    pub(super) completions: UnboundedSender<Settlement>,
}

impl Attempts {
    /// Sends the request, tells the scheduler how it went, and hands a completion on to be stored. Aborting its task
    /// drops the connection to the engine. What is logged meanwhile says who answers whom: the request once it is read.
    pub(super) async fn run(self: Arc<Self>, replica: ReplicaKey, lease: Lease) {
        let span = tracing::info_span!(
            "attempt",
            model = self.replicas.model_name(lease.key.partition.model),
            replica = self.replicas.name(replica),
            request = field::Empty,
        );
        self.attempt(replica, lease).instrument(span).await;
    }

    async fn attempt(&self, replica: ReplicaKey, lease: Lease) {
        let seq = lease.key.position.seq;
        let prompt = match self.prompts.take(seq).await {
            Ok(Some(prompt)) => {
                Span::current().record("request", field::display(prompt.id));
                prompt
            }
            Ok(None) => return self.answer(SchedulerInput::Ended { seqs: vec![seq] }),
            Err(error) => {
                tracing::warn!(%error, seq, "reading a prompt failed; request returns to the queue");
                return self.answer(SchedulerInput::Undone(SchedulerCommand::Send { replica, lease }));
            }
        };
        match self.replicas.complete(replica, lease.key.partition.model, &prompt).await {
            Ok(completion) => {
                let cost = commands::cost_of(&completion);
                let _ = self.completions.send(commands::settlement_of(lease, completion, self.clock.now()));
                self.answer(SchedulerInput::Completed { seq, cost });
            }
            Err(error) => {
                tracing::debug!(?error, "attempt failed");
                metrics::counter!("overnight_attempts_failed_total").increment(1);
                self.answer(SchedulerInput::AttemptFailed { seq, error });
            }
        }
    }

    /// The scheduler may be gone already, when the process ends.
    fn answer(&self, input: SchedulerInput) {
        let _ = self.answers.send(input);
    }
}
