//! The gauges of engines and models, as the scheduler knows them.

use overnight_domain::scheduler::{Replica, Scheduler};

use super::replicas::Replicas;
use crate::app::Services;

/// Sets them all.
pub(super) fn set(
    scheduler: &Scheduler,
    replicas: &Replicas,
    is_driven: impl Fn(&Replica) -> bool,
    services: &Services,
) {
    let now = services.clock.now();
    for replica in replicas.list() {
        let key = replica.key;
        let name = replicas.name(key).to_owned();
        let flag = |is_so: bool| f64::from(u8::from(is_so));
        let gauges = [
            ("overnight_engine_requests_in_flight", scheduler.in_flight(key) as f64),
            ("overnight_engine_paused", flag(scheduler.is_paused(key))),
            ("overnight_engine_concurrency_limit", f64::from(scheduler.concurrency_limit(key).unwrap_or(0))),
            ("overnight_engine_driven", flag(is_driven(&replica))),
            ("overnight_engine_open", flag(scheduler.closed_until(key).is_none())),
            ("overnight_engine_running", flag(scheduler.is_running(key))),
            ("overnight_engine_rate_limited", flag(scheduler.is_rate_limited(key, now))),
            ("overnight_engine_over_budget", flag(scheduler.over_budget(key).is_some())),
        ];
        for (gauge, value) in gauges {
            metrics::gauge!(gauge, "engine" => name.clone()).set(value);
        }
        if let Some((requests, tokens)) = scheduler.used_today(key).filter(|_| is_driven(&replica)) {
            let gauge = "overnight_engine_budget_requests_used";
            metrics::gauge!(gauge, "engine" => name.clone()).set(requests as f64);
            metrics::gauge!("overnight_engine_budget_tokens_used", "engine" => name).set(tokens as f64);
        }
    }
    for model in services.models.iter() {
        let name = model.config.name.clone();
        // Where nodes share the queue it is counted: each of them knows of a part.
        if !services.store.is_shared() {
            let waiting = scheduler.waiting(model.key) as f64;
            metrics::gauge!("overnight_requests_waiting", "model" => name.clone()).set(waiting);
        }
        let due_first = scheduler.due_first(model.key) as f64;
        metrics::gauge!("overnight_requests_due_first", "model" => name).set(due_first);
    }
}
