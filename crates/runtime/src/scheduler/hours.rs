//! Tells the scheduler when engines open and close.

use std::collections::BTreeMap;

use overnight_domain::scheduler::{EngineHours, ReplicaKey, SchedulerInput};

use super::replicas::Replicas;

/// The hours that the scheduler was told, of replicas that have any.
#[derive(Default)]
pub(super) struct Hours {
    told: BTreeMap<ReplicaKey, Told>,
}

struct Told {
    at: i64,
    hours: EngineHours,
}

impl Hours {
    /// The changes that the scheduler does not know at `now`, in milliseconds: everything at first.
    pub(super) fn news(&mut self, replicas: &Replicas, now: i64) -> Vec<SchedulerInput> {
        let mut news = self.no_longer_told(replicas);
        for (replica, weekly) in replicas.hours() {
            let before = self.told.get(&replica);
            // The clock may have been set back.
            let holds = |told: &Told| told.at <= now && told.hours.until.is_none_or(|until| now < until);
            if before.is_some_and(holds) {
                continue;
            }
            let hours = weekly.at(now);
            if before.is_none_or(|told| told.hours != hours) {
                log(replicas.name(replica), hours, now);
                news.push(SchedulerInput::Hours { replica, hours });
            }
            self.told.insert(replica, Told { at: now, hours });
        }
        news
    }

    /// The settings have changed, so everything is told again.
    pub(super) fn doubt(&mut self) {
        self.told.values_mut().for_each(|told| told.at = i64::MAX);
    }

    /// Replicas without hours are always open.
    fn no_longer_told(&mut self, replicas: &Replicas) -> Vec<SchedulerInput> {
        let had_hours = std::mem::take(&mut self.told);
        let (have_some, have_none) =
            had_hours.into_iter().partition(|(key, _)| replicas.hours().any(|(other, _)| other == *key));
        self.told = have_some;
        let always = |replica| SchedulerInput::Hours { replica, hours: EngineHours::ALWAYS };
        BTreeMap::into_keys(have_none).map(always).collect()
    }
}

fn log(replica: &str, hours: EngineHours, now: i64) {
    let lasts_ms = hours.until.map(|until| until - now);
    match hours.is_open {
        true => tracing::info!(replica, lasts_ms, "engine replica within its hours"),
        false => tracing::info!(replica, lasts_ms, "engine replica outside its hours"),
    }
}
