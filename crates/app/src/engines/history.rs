//! The throughput of engines in the last hour, by minute, as this process learned it.
//!
//! Displays cost little. A node reports the state of its engine replicas at most every two seconds, and only changes (`engine_reports`).
//! Their rates are computed every 10 s and rounded. Each process keeps the rates of the last hour in memory (here). The last use of API
//! keys is written in one statement for many keys. Live-request counts are range scans over the queue key, one at a time, cached for 20 ×
//! their duration, so that polling uses at most 5 % of one reader per account. The reason why a request waits is derived from these
//! (`crates/app/src/requests/waiting.rs`); only operators see an engine's own words.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, PoisonError};

use overnight_store::StoreError;
use overnight_store::nodes::engine_reports::{self, EngineReport};

use crate::Services;

const MINUTES: usize = 60;

/// Tokens per second of each engine, the oldest minute first.
#[derive(Debug, Default)]
pub struct EngineHistory(Mutex<BTreeMap<String, VecDeque<i64>>>);

impl EngineHistory {
    /// The rates of at most the last 60 minutes of the engine with this name; 0 for an idle minute.
    pub fn of(&self, engine: &str) -> Vec<i64> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(engine).into_iter().flatten().copied().collect()
    }

    /// Adds the rates of a minute; engines that are no longer reported are dropped.
    fn note(&self, reports: &[EngineReport]) {
        let mut rates: BTreeMap<&str, i64> = BTreeMap::new();
        for EngineReport { engine, .. } in reports {
            let rate = engine.rates.tokens_per_second.filter(|_| engine.is_driven).unwrap_or(0);
            *rates.entry(&engine.name).or_default() += rate;
        }
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|name, _| rates.contains_key(&**name));
        for (name, rate) in rates {
            let minutes = known.entry(name.to_owned()).or_default();
            if minutes.len() == MINUTES {
                minutes.pop_front();
            }
            minutes.push_back(rate);
        }
    }
}

/// Notes each engine's current rate. Called once a minute.
pub async fn note(services: &Services) -> Result<(), StoreError> {
    services.engine_history.note(&engine_reports::list(&services.store).await?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engines::{EngineRates, EngineState, PrefixCacheState};

    fn report(name: &str, is_driven: bool, rate: i64) -> EngineReport {
        let engine = EngineState {
            name: name.to_owned(),
            models: Vec::new(),
            is_driven,
            in_flight: 0,
            max_concurrency: 1,
            pause: None,
            closed_until: None,
            models_out: Vec::new(),
            rates: EngineRates { tokens_per_second: Some(rate), cache_hit_percent: None },
            prefix_cache: PrefixCacheState::default(),
            process: None,
        };
        EngineReport { node: "a".to_owned(), reported_at: 0, engine }
    }

    #[test]
    fn the_last_hour_of_each_engine_is_known_and_what_is_gone_is_forgotten() {
        let history = EngineHistory::default();
        for minute in 0..70 {
            history.note(&[report("a", true, minute), report("a", false, 1_000), report("b", false, 5)]);
        }
        assert_eq!(history.of("a"), (10..70).collect::<Vec<_>>());
        assert_eq!(history.of("b"), [0; MINUTES]);
        history.note(&[report("b", true, 7)]);
        assert_eq!((history.of("a").len(), history.of("b").last()), (0, Some(&7)));
    }
}
