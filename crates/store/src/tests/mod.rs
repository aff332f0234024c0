//! Tests of the store on real databases, through its public functions: one suite, on SQLite and on PostgreSQL.

/// Declares a store test, which runs on both databases. The audit must find no breach after it; tests with rows made by hand or a closed
/// store say `no audit`.
macro_rules! on_both {
    ($name:ident) => {
        on_both!($name, true);
    };
    ($name:ident, no audit) => {
        on_both!($name, false);
    };
    ($name:ident, $is_audited:literal) => {
        mod $name {
            use crate::tests::fixture::{Fixture, run};

            #[tokio::test]
            async fn on_sqlite() {
                run(Fixture::on_sqlite().await, super::$name, $is_audited).await;
            }

            #[tokio::test]
            async fn on_postgres() {
                run(Fixture::on_postgres().await, super::$name, $is_audited).await;
            }
        }
    };
}

mod activity;
mod api_keys;
mod audit_log;
mod audit_log_bounds;
mod backups;
mod batch_deletion;
mod bounded_lists;
mod conflicts;
mod counts;
mod damage;
mod declared;
mod deliveries;
mod disk;
mod encryption;
mod ends;
mod engine_days;
mod engine_reports;
mod filling;
mod fixture;
mod foreign_schemas;
mod grouping;
mod idempotency_keys;
mod in_line;
mod installations;
mod leasing;
mod listing;
mod lives;
mod log_truncation;
mod lookups;
mod low_credits;
mod money;
mod monthly_grants;
mod node_statuses;
mod nodes;
mod objects;
mod opening;
mod operator_views;
mod outages;
mod outlook;
mod paging;
mod pieces;
mod places;
mod plans;
mod pooled;
mod postgres_urls;
mod prelude;
mod quotas;
mod request_blocks;
mod retention;
mod rights;
mod rows;
mod schemas;
mod segments;
mod spend_by_key;
mod spend_by_key_writes;
mod statements;
mod test_events;
mod transfer;
mod turns;
mod uploads;
mod usage;
mod users;
mod waits;
mod webhooks;
mod wholes;
mod withdrawals;

pub(super) use self::fixture::{Fixture, START, options};
pub(super) use self::schemas::{Catalogue, catalogue};
