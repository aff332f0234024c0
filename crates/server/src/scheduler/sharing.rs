//! What a node asks of the others through the database, once a second: which engine replicas it drives, what waits that
//! others brought, and which of its leases others have ended. This poll is the truth; hints make it sooner.

use std::collections::BTreeSet;
use std::sync::Arc;

use overnight_base::tasks;
use overnight_domain::scheduler::{Lease, SchedulerInput};
use tokio::sync::Notify;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinSet;

use crate::app::Services;
use crate::store::StoreError;
use crate::store::nodes::hints;
use crate::store::nodes::replicas::{self, Claim, Claimed};
use crate::store::queue;
use crate::store::queue::leases;

/// Hints are given at most so often.
const HINT_MS: i64 = 50;
/// After a database was away.
const LISTEN_AGAIN_MS: i64 = 5_000;

pub(super) struct Polled {
    claimed: Claimed,
    /// The replicas that this node cannot drive any more, as its rows say now.
    left: Vec<String>,
    pub(super) inputs: Vec<SchedulerInput>,
}

/// What comes from the other nodes.
pub(super) enum Heard {
    /// The answer to what was asked; `None` where none could be had.
    Answer(Option<Polled>),
    Hint,
}

pub(super) struct Sharing {
    services: Services,
    /// The replicas that this node could drive as others could, by the names that nodes agree on.
    names: Vec<String>,
    held: BTreeSet<String>,
    /// Those of them that another node shall drive: they run out first.
    giving_up: BTreeSet<String>,
    /// Replicas that this node cannot drive any more, and whose rows say that it can.
    left: BTreeSet<String>,
    is_asking: bool,
    /// Another node has news: others are asked again as soon as the last answer is there.
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

    /// The replicas that this node could drive are others. Those that it held and could not any more run out first.
    pub(super) fn replace_names(&mut self, names: Vec<String>) {
        let before = std::mem::replace(&mut self.names, names);
        self.left.extend(before);
        self.left.retain(|name| !self.names.contains(name));
    }

    /// Tells the other nodes that there is something to ask for, though not at every turn.
    pub(super) fn tell(&mut self) {
        let now = self.services.clock.now();
        // The clock may have been set back.
        if (0..HINT_MS).contains(&now.saturating_sub(self.hinted_at)) {
            return;
        }
        self.hinted_at = now;
        let store = self.services.store.clone();
        tasks::spawn(async move {
            // They ask by themselves soon.
            let _ = hints::give(&store).await;
        });
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

    /// The next answer, or that another node has news.
    pub(super) async fn heard(&mut self) -> Heard {
        tokio::select! {
            polled = self.polls.recv() => {
                self.is_asking = false;
                Heard::Answer(polled.flatten())
            }
            () = self.hint.notified(), if !self.is_asking => Heard::Hint,
        }
    }

    /// Takes note of what this node holds; whether what it drives has changed.
    pub(super) fn take(&mut self, polled: &Polled) -> bool {
        let drives = |it: &Self| it.held.difference(&it.giving_up).cloned().collect::<Vec<_>>();
        let before = drives(self);
        self.held = polled.claimed.held.iter().cloned().collect();
        self.left.retain(|name| !polled.left.contains(name));
        self.giving_up.retain(|name| self.held.contains(name));
        let driven = drives(self);
        let surplus = driven.len().saturating_sub(polled.claimed.share);
        self.giving_up.extend(driven.iter().rev().take(surplus).cloned());
        // Where the others left meanwhile, what was to be given up is kept.
        for _ in driven.len()..polled.claimed.share {
            self.giving_up.pop_first();
        }
        before != drives(self)
    }
}

/// Passes hints on, where they can be heard.
async fn listen(services: Services, hint: Arc<Notify>) {
    loop {
        match hints::listen(&services.store).await {
            // Nodes ask each second without hints too.
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
