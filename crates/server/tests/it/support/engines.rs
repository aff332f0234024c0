//! Engines as nodes report them.

use overnight_app::engines::{EngineRates, EngineState, PrefixCacheState};
use overnight_store::nodes::engine_reports;

use super::{MODEL, TestApp};

/// An idle engine of the tests' model, within its opening hours.
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
    pub(crate) async fn report_engine(&self, engine: EngineState) {
        let now = self.services.clock.now();
        engine_reports::report(&self.services.store, vec![engine], now).await.expect("a report");
    }
}
