//! The certificates that the service's own calls trust.

use overnight_app::check_certificates;
use overnight_config::Config;

use super::Finding;

pub(super) fn check(config: &Config) -> Option<Finding> {
    let error = check_certificates(&config.outgoing).err()?;
    let hint = "the service does not start with it; name a file of certificates in PEM that it can read";
    Some(Finding::fail("outgoing", error.to_string(), hint))
}
