//! Checks who can read the metrics.

use overnight_app::MetricsAccess;
use overnight_config::Config;

use super::Finding;

const CHECK: &str = "metrics";

pub(super) fn check(config: &Config) -> Finding {
    let variable = config.metrics_token_env.as_deref();
    if let Err(error) = MetricsAccess::new(variable).check() {
        let message = error.to_string();
        let message = message.trim_start_matches("metrics: ");
        return Finding::fail(CHECK, message, "set it where the service is started");
    }
    let address = config.metrics_listen.unwrap_or(config.listen);
    if config.metrics_listen.is_none() && !config.serves_metrics_with_api() {
        let hint = "set `metrics_token_env` or `metrics_listen`";
        return Finding::warn(
            CHECK,
            "they are not served: everyone who reaches the API would read them",
            hint,
        );
    }
    match variable {
        Some(_) => Finding::ok(CHECK, format!("they are read at {address}, with a token")),
        None if address.ip().is_loopback() => {
            Finding::ok(CHECK, format!("every user of this machine reads them at {address}"))
        }
        None => {
            let message = format!("everyone who reaches {address} reads them");
            Finding::warn(CHECK, message, "set `metrics_token_env`, or `metrics_listen` to an inner address")
        }
    }
}
