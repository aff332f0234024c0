//! A test binary as an engine: it runs one test that serves.

use std::net::SocketAddr;

use overnight_testkit::engine::{SimConfig, SimEngine};

/// The address to serve at. Without the variable the test does nothing.
const ADDRESS: &str = "TEST_ENGINE_ADDRESS";

const MODEL: &str = "TEST_ENGINE_MODEL";

/// Shell code that replaces the shell by an engine of the model `m` at this port.
pub(super) fn engine_in_shell(port: u16) -> String {
    engine_of_model_in_shell(port, "m")
}

/// Shell code that replaces the shell by an engine of this model at this port.
pub(super) fn engine_of_model_in_shell(port: u16, model: &str) -> String {
    let own = std::env::current_exe().unwrap();
    let test = "engines::program::this_process_serves_if_it_is_told_where";
    format!("{ADDRESS}=127.0.0.1:{port} {MODEL}={model} exec '{}' --exact {test} --nocapture", own.display())
}

#[tokio::test]
async fn this_process_serves_if_it_is_told_where() {
    let Ok(address) = std::env::var(ADDRESS) else { return };
    let address: SocketAddr = address.parse().unwrap();
    let mut config = SimConfig::default();
    config.tunables.models = vec![std::env::var(MODEL).unwrap()];
    let _engine = SimEngine::start_at(address, config).unwrap();
    std::future::pending::<()>().await;
}
