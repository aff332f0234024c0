//! Checks an engine that the service starts by a command: calls it only if the service runs it.

use std::sync::Arc;

use overnight_base::clock::{SharedClock, SystemClock};
use overnight_config::{CommandConfig, Config, EngineConfig};
use overnight_engine_clients::{check_port_free, find_program};
use overnight_store::FolderLock;

use super::{Contexts, Finding, UNUSABLE, ask, client};

/// Checks that the engine could start, without starting it: a model may use all memory.
pub(super) async fn check(
    name: String,
    config: &Config,
    engine: &EngineConfig,
    command: &CommandConfig,
    contexts: &mut Contexts,
) -> Finding {
    let clock: SharedClock = Arc::new(SystemClock);
    if let Err(error) = client(config, engine, &clock) {
        return Finding::fail(name, error.to_string(), UNUSABLE);
    }
    let program = match find_program(command) {
        Ok(path) => path,
        Err(reason) => {
            let hint = "correct `command`, `working_dir` or the PATH of the service, or set PATH in `env`";
            return Finding::fail(name, reason, hint);
        }
    };
    if let Err(taken) = check_port_free(command) {
        // A running service may have started this engine.
        if FolderLock::holder(&config.data_dir).is_some() {
            return ask(name, config, engine, contexts).await;
        }
        let hint = "end that process, or give this engine another port in `base_url` and in `command`";
        return Finding::fail(name, format!("cannot be started: {taken}"), hint);
    }
    let (program, port) = (program.display(), command.port());
    let unset = command.pass_env.iter().filter(|name| std::env::var_os(name).is_none());
    let unset: Vec<&str> = unset.map(String::as_str).collect();
    if !unset.is_empty() {
        let message =
            format!("{program} can be started; `pass_env` names what is not set: {}", unset.join(", "));
        return Finding::warn(
            name,
            message,
            "set it in the environment of the service, or take it out of `pass_env`",
        );
    }
    Finding::ok(name, format!("{program} can be started, and port {port} is free"))
}
