//! Small queues: if a model has fewer requests than its replicas have slots, each replica gets a part of them in proportion to its slots,
//! so that none is idle while another has many.

use super::Scheduler;
use super::messages::{ModelKey, ReplicaKey};
use super::replicas::ReplicaState;

/// Requests in the smallest part. With a smaller one, a few questions about one text run on several replicas, each of which reads
/// the text, and are done hardly sooner. With a larger one, requests that share nothing wait for each other.
const PART_MIN: usize = 4;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Spread {
    /// At least as many requests as slots, or one replica: each takes as many as it has room for.
    Unlimited,
    /// Waiting and leased requests, fewer than there are slots.
    Parts { requests: usize, slots: usize },
}

impl Spread {
    pub(super) fn left_to(self, replica: &ReplicaState, now: i64) -> usize {
        match self {
            Self::Unlimited => usize::MAX,
            Self::Parts { requests, slots } => {
                let part = requests.saturating_mul(replica.reach(now)).div_ceil(slots);
                part.max(PART_MIN).saturating_sub(replica.claimed())
            }
        }
    }
}

impl Scheduler {
    /// How the requests of a model are spread over the replica `key` and the others that can take them now. One of them has room for more
    /// whenever any wait. If nodes share the queue, the number of waiting requests is not known here.
    pub(super) fn spread(&self, key: ReplicaKey, model: ModelKey, now: i64) -> Spread {
        let Some(state) = self.models.get(&model).filter(|_| !self.settings.is_shared) else {
            return Spread::Unlimited;
        };
        // A replica outside its hours cannot take everything, so it has no part of what the others can take.
        let is_in_hours = self.replicas.get(&key).is_some_and(|it| it.is_in_hours);
        let is_able = |it: &ReplicaState| {
            let is_ready = it.is_usable(now) && !it.is_trying() && it.slots() > 0;
            is_ready && it.serves(model) && (it.is_in_hours || !is_in_hours)
        };
        let (mut replicas, mut slots, mut claimed) = (0, 0, 0);
        for replica in self.replicas.values().filter(|it| is_able(it)) {
            replicas += 1;
            slots += replica.reach(now);
            claimed += replica.claimed();
        }
        let requests = claimed + state.visible(slots.saturating_sub(claimed));
        if replicas > 1 && requests < slots { Spread::Parts { requests, slots } } else { Spread::Unlimited }
    }
}
