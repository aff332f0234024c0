//! The gauges of engines and models, as the scheduler knows them.

use overnight_app::Services;
use overnight_domain::scheduler::{Replica, Scheduler};

use super::replicas::Replicas;

const OF_ENGINES: [&str; 9] = [
    "overnight_engine_requests_in_flight",
    "overnight_engine_paused",
    "overnight_engine_concurrency_limit",
    "overnight_engine_driven",
    "overnight_engine_open",
    "overnight_engine_running",
    "overnight_engine_rate_limited",
    "overnight_engine_over_budget",
    "overnight_engine_busy",
];

/// Sets the gauges of a removed engine to 0.
pub(super) fn clear(engine: &str) {
    for gauge in OF_ENGINES {
        metrics::gauge!(gauge, "engine" => engine.to_owned()).set(0.0);
    }
}

/// Sets the gauges of a removed model to 0: its waiting requests are counted in `overnight_requests_without_model`.
pub fn clear_model(model: &str) {
    for gauge in ["overnight_requests_waiting", "overnight_requests_due_first"] {
        metrics::gauge!(gauge, "model" => model.to_owned()).set(0.0);
    }
}

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
        let values = [
            scheduler.in_flight(key) as f64,
            flag(scheduler.is_paused(key)),
            f64::from(scheduler.concurrency_limit(key).unwrap_or(0)),
            flag(is_driven(&replica)),
            flag(scheduler.closed_until(key).is_none()),
            flag(scheduler.is_running(key)),
            flag(scheduler.is_rate_limited(key, now)),
            flag(scheduler.over_budget(key).is_some()),
            flag(replica.models.iter().any(|model| scheduler.busy(key, *model, now).is_some())),
        ];
        for (gauge, value) in OF_ENGINES.into_iter().zip(values) {
            metrics::gauge!(gauge, "engine" => name.clone()).set(value);
        }
        if let Some((requests, tokens)) = scheduler.used_today(key).filter(|_| is_driven(&replica)) {
            let gauge = "overnight_engine_budget_requests_used";
            metrics::gauge!(gauge, "engine" => name.clone()).set(requests as f64);
            metrics::gauge!("overnight_engine_budget_tokens_used", "engine" => name).set(tokens as f64);
        }
    }
    for model in services.models().iter() {
        let name = model.config.name.clone();
        // If nodes share the queue it is counted: each of them knows only a part.
        if !services.store.is_shared() {
            let waiting: i64 = model.keys().map(|key| scheduler.waiting(key)).sum();
            metrics::gauge!("overnight_requests_waiting", "model" => name.clone()).set(waiting as f64);
        }
        let due_first: i64 = model.keys().map(|key| scheduler.due_first(key)).sum();
        metrics::gauge!("overnight_requests_due_first", "model" => name).set(due_first as f64);
    }
}
