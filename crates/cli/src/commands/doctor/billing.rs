//! Checks that credits can be obtained.

use std::sync::Arc;

use overnight_base::clock::{SharedClock, SystemClock};
use overnight_config::{Config, ProviderConfig};
use overnight_outgoing::payment;

use super::Finding;

const CHECK: &str = "billing";

/// Whether no credits are sold: no model has a price, and there are no payments.
fn is_meant(config: &Config, free: usize) -> bool {
    free == config.models.len() && matches!(config.billing.provider, ProviderConfig::Manual)
}

pub(super) fn check(config: &Config) -> Vec<Finding> {
    let billing = &config.billing;
    if !billing.enabled {
        return vec![Finding::ok(CHECK, "off: nothing is priced, and nobody is refused")];
    }
    let free: Vec<&str> = config
        .models
        .iter()
        .filter(|model| model.pricing().is_none())
        .map(|model| model.name.as_str())
        .collect();
    let mut findings = vec![match free.as_slice() {
        [] => Finding::ok(CHECK, "every model has a price"),
        free if is_meant(config, free.len()) => {
            Finding::ok(CHECK, format!("models without a price, which cost nothing: {}", free.join(", ")))
        }
        free => Finding::warn(
            CHECK,
            format!("models without a price: {}", free.join(", ")),
            "they cost nothing: set `input_price` and `output_price`, \"0\" where that is meant",
        ),
    }];
    if matches!(billing.provider, ProviderConfig::Manual) {
        findings.push(Finding::ok("payments", "none are taken: the operator grants credits"));
        return findings;
    }
    let clock: SharedClock = Arc::new(SystemClock);
    let provider = payment::provider(billing, &config.outgoing, &clock);
    findings.push(match provider.check() {
        Ok(()) => Finding::ok("payments", format!("{} has its keys", provider.name())),
        Err(error) => Finding::fail(
            "payments",
            error.to_string().trim_start_matches("payments: "),
            "set it where the service is started",
        ),
    });
    if config.public_url.is_none() {
        let message = format!("those who paid are sent back to {}", config.public_address("/"));
        findings.push(Finding::warn(
            "payments",
            message,
            "set `public_url` to where people reach the service",
        ));
    }
    findings
}
