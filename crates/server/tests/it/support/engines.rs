//! Engines, as nodes report them.

use overnight_server::app::engines::{EngineRates, EngineState, PrefixCacheState};
use overnight_server::store::nodes::engine_reports;

use super::{MODEL, TestApp};

/// An engine of the tests' model that is driven and open.
pub(crate) fn idle_engine() -> EngineState {
    EngineState {
        name: "gpu-0".to_owned(),
        models: vec![MODEL.to_owned()],
        is_driven: true,
        in_flight: 0,
        max_concurrency: 4,
        pause: None,
        closed_until: None,
        models_out: Vec::new(),
        rates: EngineRates::default(),
        prefix_cache: PrefixCacheState::default(),
        process: None,
    }
}

impl TestApp {
    /// Its node says this of an engine, and of no other.
    pub(crate) async fn report_engine(&self, engine: EngineState) {
        let now = self.services.clock.now();
        engine_reports::report(&self.services.store, vec![engine], now).await.expect("a report");
    }
}
