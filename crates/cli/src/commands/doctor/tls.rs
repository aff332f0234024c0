//! Checks the certificate of the API.

use overnight_config::{Config, TlsConfig};
use overnight_http::Certificate;

use super::Finding;
use crate::times;

const CHECK: &str = "certificate";

const DAY: i64 = 86_400;

/// Automatically renewed certificates have more time left.
const LEFT_TO_WARN: i64 = 14 * DAY;

pub(super) fn check(config: &Config) -> Vec<Finding> {
    let Some(files) = &config.tls else { return Vec::new() };
    let certificate = match Certificate::read(files) {
        Ok(certificate) => certificate,
        Err(error) => {
            let hint = "the service does not start with it; docs/operating/tls.md says what the files hold";
            return vec![Finding::fail(CHECK, error.to_string(), hint)];
        }
    };
    let not_after = i64::try_from(certificate.not_after).unwrap_or(i64::MAX);
    let mut findings = vec![validity(not_after, times::now() / 1_000)];
    if is_readable_by_all(files) {
        let message = format!("every user of this machine can read the key in {}", files.key.display());
        findings.push(Finding::warn(CHECK, message, "run chmod o-r on it"));
    }
    findings
}

fn validity(not_after: i64, now: i64) -> Finding {
    let hint = "renew it: new connections get what the files hold 10 seconds later";
    let day = times::day(not_after / DAY);
    match not_after - now {
        ..0 => Finding::fail(CHECK, format!("it ended on {day}: clients refuse it"), hint),
        0..LEFT_TO_WARN => Finding::warn(CHECK, format!("it ends on {day}"), hint),
        _ => Finding::ok(CHECK, format!("it is valid until {day}")),
    }
}

fn is_readable_by_all(files: &TlsConfig) -> bool {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata(&files.key).is_ok_and(|metadata| metadata.mode() & 0o004 != 0)
}

#[cfg(test)]
mod tests {
    use super::super::State;
    use super::*;

    #[test]
    fn a_certificate_that_ends_soon_is_told() {
        let at = |left: i64| validity(20_000 * DAY, 20_000 * DAY - left).state;
        assert_eq!(
            [at(-1), at(0), at(LEFT_TO_WARN - 1), at(LEFT_TO_WARN)],
            [State::Fail, State::Warn, State::Warn, State::Ok]
        );
    }
}
