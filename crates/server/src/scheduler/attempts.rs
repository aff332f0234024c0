//! One attempt: a leased request goes to an engine, and its answer to the store.

use std::sync::Arc;

use overnight_domain::chat::Completion;
use overnight_domain::scheduler::{Action, Input, Lease, ReplicaKey};
use tokio::sync::mpsc::UnboundedSender;

use super::actions;
use super::prompts::Prompts;
use super::replicas::Replicas;
use crate::app::Services;
use crate::store::StoreError;

const RETRY_MS: i64 = 1_000;

/// What an attempt needs. Aborting its task drops the connection to the engine.
pub(super) struct Attempt {
    pub(super) services: Services,
    pub(super) replicas: Arc<Replicas>,
    pub(super) prompts: Arc<Prompts>,
    pub(super) answers: UnboundedSender<Input>,
}

impl Attempt {
    /// Sends the request, tells the scheduler how it went, and settles a completion.
    pub(super) async fn run(self, replica: ReplicaKey, lease: Lease) {
        let seq = lease.key.position.seq;
        let prompt = match self.prompts.take(seq).await {
            Ok(Some(prompt)) => prompt,
            Ok(None) => return self.answer(Input::Ended { seqs: vec![seq] }),
            Err(error) => {
                tracing::warn!(%error, seq, "a prompt could not be read, and its request goes back to the queue");
                return self.answer(Input::Undone(Action::Send { replica, lease }));
            }
        };
        match self.replicas.complete(replica, lease.key.group.model, &prompt.body).await {
            Ok(completion) => {
                self.answer(Input::Completed { seq, cost: actions::cost_of(&completion) });
                tokio::spawn(settle(self.services, lease, completion));
            }
            Err(error) => {
                tracing::debug!(request = %prompt.id, ?error, "an attempt brought no result");
                metrics::counter!("overnight_attempts_failed_total").increment(1);
                self.answer(Input::AttemptFailed { seq, error });
            }
        }
    }

    /// The scheduler may be gone already, when the process ends.
    fn answer(&self, input: Input) {
        let _ = self.answers.send(input);
    }
}

/// Stores a completion, in a task of its own that no abort reaches: the work is done and must not be lost to a store
/// that is away for a moment.
async fn settle(services: Services, lease: Lease, completion: Completion) {
    loop {
        let now = services.clock.now();
        match actions::settle_completion(&services.store, &lease, completion.clone(), now).await {
            Ok(true) => {
                metrics::counter!("overnight_requests_completed_total").increment(1);
                return;
            }
            Ok(false) | Err(StoreError::Stopped) => return,
            Err(error) => tracing::warn!(%error, "a result waits for the store"),
        }
        services.clock.sleep_until(now + RETRY_MS).await;
    }
}
