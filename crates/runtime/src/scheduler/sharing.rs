//! What a node polls from the database once a second: which replicas it drives, requests that other nodes added, and which of its leases
//! others have ended. This poll is authoritative; hints make it earlier.

use std::collections::BTreeSet;
use std::sync::Arc;

use overnight_app::Services;
use overnight_base::tasks;
use overnight_domain::scheduler::{Lease, SchedulerInput};
use overnight_store::StoreError;
use overnight_store::nodes::hints;
use overnight_store::nodes::replicas::{self, Claim, Claimed};
use overnight_store::queue;
use overnight_store::queue::leases;
use tokio::sync::Notify;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinSet;

/// The shortest interval between hints.
const HINT_MS: i64 = 50;
/// After a failure of the database.
const LISTEN_AGAIN_MS: i64 = 5_000;

pub(super) struct Polled {
    claimed: Claimed,
    /// The replicas that this node can no longer drive, as its rows say now.
    left: Vec<String>,
    pub(super) inputs: Vec<SchedulerInput>,
}

pub(super) enum Heard {
    /// `None` if the poll failed.
    Answer(Option<Polled>),
    Hint,
}

pub(super) struct Sharing {
    services: Services,
    /// The names of the replicas that this node could drive, which nodes agree on.
    names: Vec<String>,
    held: BTreeSet<String>,
    /// Of those, the replicas that another node will drive, after they finish their requests.
    giving_up: BTreeSet<String>,
    /// Replicas that this node can no longer drive, and whose rows say that it can.
    left: BTreeSet<String>,
    is_asking: bool,
    /// Another node has news: the next poll follows the current one immediately.
    hint: Arc<Notify>,
    hinted_at: i64,
    polls: UnboundedReceiver<Option<Polled>>,
    polled: UnboundedSender<Option<Polled>>,
    _listener: JoinSet<()>,
}

impl Sharing {
    /// A node that could drive the replicas of these names.
    pub(super) fn new(services: Services, names: Vec<String>) -> Self {
        let (polled, polls) = unbounded_channel();
        let (held, giving_up) = (BTreeSet::new(), BTreeSet::new());
        let hint = Arc::<Notify>::default();
        let mut listener = JoinSet::new();
        let listening = listen(services.clone(), Arc::clone(&hint));
        listener.spawn(services.supervisor.watch("node_hints", listening));
        Self {
            services,
            names,
            held,
            giving_up,
            left: BTreeSet::new(),
            is_asking: false,
            hint,
            hinted_at: i64::MIN,
            polls,
            polled,
            _listener: listener,
        }
    }

    /// Replaces the names. Held replicas that were removed finish their requests first.
    pub(super) fn replace_names(&mut self, names: Vec<String>) {
        let before = std::mem::replace(&mut self.names, names);
        self.left.extend(before);
        self.left.retain(|name| !self.names.contains(name));
    }

    /// Hints other nodes to poll, at a limited rate.
    pub(super) fn tell(&mut self) {
        let now = self.services.clock.now();
        // The clock may have been set back.
        if (0..HINT_MS).contains(&now.saturating_sub(self.hinted_at)) {
            return;
        }
        self.hinted_at = now;
        let store = self.services.store.clone();
        tasks::spawn(async move {
            // They poll by themselves soon.
            let _ = hints::give(&store).await;
        });
    }

    /// Whether this node sends to the replica.
    pub(super) fn drives(&self, name: &str) -> bool {
        self.held.contains(name) && !self.giving_up.contains(name)
    }

    /// Polls for these leases, unless a poll is in progress, giving up replicas that `has_run_out`.
    pub(super) fn ask(&mut self, leases: Vec<Lease>, has_run_out: impl Fn(&str) -> bool) {
        if self.is_asking {
            return;
        }
        self.is_asking = true;
        let giving_up = self.giving_up.iter().filter(|name| has_run_out(name)).cloned().collect();
        let left: Vec<_> = self.left.iter().filter(|name| has_run_out(name)).cloned().collect();
        let claim = Claim { names: self.names.clone(), giving_up, left, now: self.services.clock.now() };
        let (services, polled) = (self.services.clone(), self.polled.clone());
        tasks::spawn(async move {
            let polling = poll(&services, claim, &leases);
            let outcome = services.supervisor.item("polls", "a poll of shared state", polling).await;
            if let Ok(Err(error)) = &outcome {
                tracing::warn!(%error, "polling shared state failed; will retry");
            }
            let _ = polled.send(outcome.ok().and_then(Result::ok));
        });
    }

    /// The next answer, or another node's hint.
    pub(super) async fn heard(&mut self) -> Heard {
        tokio::select! {
            polled = self.polls.recv() => {
                self.is_asking = false;
                Heard::Answer(polled.flatten())
            }
            () = self.hint.notified(), if !self.is_asking => Heard::Hint,
        }
    }

    /// Stores what this node holds; returns whether the driven replicas changed.
    pub(super) fn take(&mut self, polled: &Polled) -> bool {
        let drives = |it: &Self| it.held.difference(&it.giving_up).cloned().collect::<Vec<_>>();
        let before = drives(self);
        self.held = polled.claimed.held.iter().cloned().collect();
        self.left.retain(|name| !polled.left.contains(name));
        self.giving_up.retain(|name| self.held.contains(name));
        let driven = drives(self);
        let surplus = driven.len().saturating_sub(polled.claimed.share);
        self.giving_up.extend(driven.iter().rev().take(surplus).cloned());
        // If the other nodes left meanwhile, replicas to be given up are kept.
        for _ in driven.len()..polled.claimed.share {
            self.giving_up.pop_first();
        }
        before != drives(self)
    }
}

/// Forwards hints, if the database supports them.
async fn listen(services: Services, hint: Arc<Notify>) {
    loop {
        match hints::listen(&services.store).await {
            // Nodes poll each second without hints too.
            Ok(None) => return std::future::pending().await,
            Ok(Some(mut hints)) => {
                while hints.next().await.is_ok() {
                    hint.notify_one();
                }
            }
            Err(error) => tracing::debug!(%error, "listening for hints of other nodes failed; will retry"),
        }
        services.clock.sleep_until(services.clock.now() + LISTEN_AGAIN_MS).await;
    }
}

async fn poll(services: &Services, claim: Claim, leases: &[Lease]) -> Result<Polled, StoreError> {
    let (store, now, left) = (&services.store, claim.now, claim.left.clone());
    let claimed = replicas::claim(store, claim).await?;
    let mut inputs = vec![SchedulerInput::Waiting(queue::waiting_partitions(store, now).await?)];
    if let Some(ready_at) = queue::next_ready_at(store).await? {
        inputs.push(SchedulerInput::Gathering { ready_at });
    }
    let lost = leases::list_lost(store, leases).await?;
    if !lost.is_empty() {
        inputs.push(SchedulerInput::Lost(lost));
    }
    Ok(Polled { claimed, left, inputs })
}
