//! What a node asks of the others through the database, once a second: which engine replicas it drives, what waits that
//! others brought, and which of its leases others have ended. This poll is the truth.

use std::collections::BTreeSet;

use overnight_domain::scheduler::{Input, Lease};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::app::Services;
use crate::store::replicas::{self, Claim, Claimed};
use crate::store::{StoreError, leases, queue};

/// What a poll brought.
pub(super) struct Polled {
    claimed: Claimed,
    /// For the scheduler.
    pub(super) inputs: Vec<Input>,
}

/// A node among others.
pub(super) struct Sharing {
    services: Services,
    /// The replicas that this node could drive as others could, by the names that nodes agree on.
    names: Vec<String>,
    held: BTreeSet<String>,
    /// Those of them that another node shall drive: they run out first.
    giving_up: BTreeSet<String>,
    is_asking: bool,
    polls: UnboundedReceiver<Option<Polled>>,
    polled: UnboundedSender<Option<Polled>>,
}

impl Sharing {
    /// A node that could drive the replicas of these names.
    pub(super) fn new(services: Services, names: Vec<String>) -> Self {
        let (polled, polls) = unbounded_channel();
        let (held, giving_up) = (BTreeSet::new(), BTreeSet::new());
        Self { services, names, held, giving_up, is_asking: false, polls, polled }
    }

    /// Whether this node sends to the replica.
    pub(super) fn drives(&self, name: &str) -> bool {
        self.held.contains(name) && !self.giving_up.contains(name)
    }

    /// Asks, unless an answer is awaited: for these leases, giving up what `has_run_out`.
    pub(super) fn ask(&mut self, leases: Vec<Lease>, has_run_out: impl Fn(&str) -> bool) {
        if self.is_asking {
            return;
        }
        self.is_asking = true;
        let giving_up = self.giving_up.iter().filter(|name| has_run_out(name)).cloned().collect();
        let claim = Claim { names: self.names.clone(), giving_up, now: self.services.clock.now() };
        let (services, polled) = (self.services.clone(), self.polled.clone());
        tokio::spawn(async move {
            let outcome = poll(&services, claim, &leases).await;
            if let Err(error) = &outcome {
                tracing::warn!(%error, "the other nodes could not be heard");
            }
            let _ = polled.send(outcome.ok());
        });
    }

    /// The next answer; `None` where none could be had.
    pub(super) async fn heard(&mut self) -> Option<Polled> {
        let polled = self.polls.recv().await.flatten();
        self.is_asking = false;
        polled
    }

    /// Takes note of what this node holds; whether what it drives has changed.
    pub(super) fn take(&mut self, polled: &Polled) -> bool {
        let drives = |it: &Self| it.held.difference(&it.giving_up).cloned().collect::<Vec<_>>();
        let before = drives(self);
        self.held = polled.claimed.held.iter().cloned().collect();
        self.giving_up.retain(|name| self.held.contains(name));
        let now = drives(self);
        let surplus = now.len().saturating_sub(polled.claimed.share);
        self.giving_up.extend(now.into_iter().rev().take(surplus));
        before != drives(self)
    }
}

async fn poll(services: &Services, claim: Claim, leases: &[Lease]) -> Result<Polled, StoreError> {
    let (store, now) = (&services.store, claim.now);
    let claimed = replicas::claim(store, claim).await?;
    let mut inputs = vec![Input::Waiting(queue::waiting_groups(store, now).await?)];
    if let Some(ready_at) = queue::next_ready_at(store).await? {
        inputs.push(Input::Gathering { ready_at });
    }
    let seqs = leases::list_lost(store, leases).await?;
    if !seqs.is_empty() {
        inputs.push(Input::Ended { seqs });
    }
    Ok(Polled { claimed, inputs })
}
