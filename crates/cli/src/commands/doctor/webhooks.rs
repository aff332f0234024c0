//! Checks which addresses webhooks may call, and whether deliveries succeed.

use overnight_app::webhooks::{self, WaitingEvents};
use overnight_config::Config;

use super::Finding;
use crate::commands::operator;
use crate::globals::Globals;
use crate::times;

const CHECK: &str = "webhooks";
const DAY_MS: i64 = 86_400_000;

pub(super) async fn check(globals: &Globals, config: &Config) -> Vec<Finding> {
    let mut findings = vec![reach(config)];
    // Another check reports a store that is missing or unreadable.
    if let Ok(services) = operator::open_to_read(globals).await {
        if let Ok(count) = webhooks::count_exhausted(&services, times::now() - DAY_MS).await {
            findings.push(given_up(count));
        }
        findings.extend(webhooks::count_waiting(&services).await.ok().and_then(failing));
    }
    findings
}

fn given_up(count: i64) -> Finding {
    match count {
        0 => Finding::ok(CHECK, "none was given up within a day"),
        count => Finding::warn(
            CHECK,
            format!("{count} were given up within a day"),
            "`overnight webhook events --state exhausted` names them; `overnight webhook replay` tells them again",
        ),
    }
}

/// Events that are retried; the service gives up after more than a day.
fn failing(WaitingEvents { failing: count, failing_since, .. }: WaitingEvents) -> Option<Finding> {
    let since = failing_since?;
    let message = format!(
        "{count} were tried in vain and are tried again, the oldest of {}",
        times::utc(since / 1_000)
    );
    let hint =
        "`overnight webhook events --state pending` names them, `overnight webhook deliveries --event` why";
    Some(Finding::warn(CHECK, message, hint))
}

fn reach(config: &Config) -> Finding {
    let webhooks = &config.webhooks;
    if webhooks.allow_insecure_targets {
        let message =
            "they may be http and lead to any address, inner ones too: whoever has a key can call them";
        return match config.listen.ip().is_loopback() {
            true => Finding::ok(CHECK, message),
            false => Finding::warn(
                CHECK,
                message,
                "set webhooks.allow_insecure_targets = false, and name networks instead",
            ),
        };
    }
    match webhooks.allow_networks.as_slice() {
        [] => Finding::ok(CHECK, "they lead to public addresses, over https"),
        networks => {
            let networks: Vec<String> = networks.iter().map(ToString::to_string).collect();
            Finding::ok(
                CHECK,
                format!("they lead to public addresses and {}, over https", networks.join(", ")),
            )
        }
    }
}
