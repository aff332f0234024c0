//! The certificates that calls of the service trust.

use overnight_server::app::check_certificates;
use overnight_server::config::Config;

use super::Finding;

pub(super) fn check(config: &Config) -> Option<Finding> {
    let error = check_certificates(&config.outgoing).err()?;
    let hint = "the service does not start with it; name a file of certificates in PEM that it can read";
    Some(Finding::fail("outgoing", error.to_string(), hint))
}
