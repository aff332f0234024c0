//! Engines that are added and removed while requests wait and run.

use std::sync::Arc;

use overnight_base::tasks;
use overnight_domain::scheduler::{ReplicaKey, SchedulerInput};

use super::Shell;
use crate::scheduler::gauges;

impl Shell {
    /// The settings have other engines or models.
    pub(super) fn replace_replicas(&mut self) {
        self.replicas = Arc::new(self.replicas.followed_by(&self.engines, self.services.models()));
        if let Some(sharing) = &mut self.sharing {
            sharing.replace_names(self.replicas.shared_names());
        }
        self.hours.doubt();
        self.tell_hours();
        self.feed(SchedulerInput::Replicas(self.owned_replicas()));
        self.poll_shared_state();
        self.publish_reports();
    }

    /// Ends processes of replicas that have left, and forgets these.
    pub(super) fn dismiss_left(&mut self) {
        let has_left = |key: &ReplicaKey| !self.scheduler.is_driven(*key);
        let left: Vec<_> = self.replicas.leaving().filter(has_left).collect();
        for key in left {
            let (rest, client) = self.replicas.without(key);
            self.replicas = Arc::new(rest);
            self.loads.forget(key);
            let Some(client) = client else { continue };
            let name = client.config().name.clone();
            if !self.replicas.has_name(&name) {
                gauges::clear(&name);
            }
            tracing::info!(engine = name, "engine replica left");
            let engines = Arc::clone(&self.engines);
            tasks::spawn(async move { engines.release(client).await });
        }
    }
}
