use overnight_domain::quotas::{Quota, Quotas};

use super::*;

fn limits(quotas: &Quotas) -> [Option<i64>; Quota::ALL.len()] {
    Quota::ALL.map(|quota| quotas.get(quota))
}

#[test]
fn live_requests_have_a_quota_by_default_and_what_the_disk_or_the_operator_decides_has_none() {
    let config = load_text("").unwrap();
    assert_eq!(limits(&config.quotas), [None, Some(1_000_000), None, None]);
    assert_eq!(config.retention, None);
    assert_eq!(config.audit_log_retention, Millis(400 * 86_400_000));
    assert_eq!(config.backup_max_age, Millis(2 * 86_400_000));
}

#[test]
fn quotas_and_the_retention_are_read() {
    let config = load_text(
        "retention = \"30d\"\naudit_log_retention = \"7d\"\nbackup_max_age = \"0s\"\n[quotas]\nstored_bytes = \"1 GiB\"\nlive_requests = 7\n\
         requests_per_second = 3\ntokens_per_day = 4_000_000_000",
    )
    .unwrap();
    assert_eq!(limits(&config.quotas), [Some(1 << 30), Some(7), Some(3), Some(4_000_000_000)]);
    assert_eq!(config.retention, Some(Millis(30 * 86_400_000)));
    assert_eq!(config.audit_log_retention, Millis(7 * 86_400_000));
    assert_eq!(config.backup_max_age, Millis(0));
}

#[test]
fn quotas_and_the_retention_have_bounds() {
    check_table(
        "",
        r#"
        [quotas] ; live_requests = 0 => `quotas.live_requests` | from 1 to
        [quotas] ; stored_bytes = "1 KiB" => `quotas.stored_bytes` must be 1 MiB | line 2
        [quotas] ; requests_per_second = 0 => `quotas.requests_per_second` | from 1 to
        [quotas] ; tokens_per_day = -1 => `quotas.tokens_per_day` | from 1 to
        retention = "1h" => `retention` must be 1d to 3650d | line 1
        backup_max_age = "3651d" => `backup_max_age` must be 0s to 3650d | line 1
        audit_log_retention = "1h" => `audit_log_retention` must be 1d to 3650d | line 1
        "#,
    );
}
