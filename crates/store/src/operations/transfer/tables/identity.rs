//! Accounts and who may use them.

use super::{Table, digest, flag, id, integer, text, within};

#[rustfmt::skip]
pub(super) const ACCOUNTS: Table = Table {
    name: "accounts", key: &["seq"],
    columns: &[
        integer("seq"), id("id"), text("name"), integer("created_at"), integer("balance"), integer("held"), integer("payments_activated_at"),
        integer("live_requests"), integer("stored_bytes"), integer("live_requests_quota"), integer("stored_bytes_quota"), integer("requests_per_second_quota"),
        integer("tokens_per_day_quota"), integer("suspended_at"), integer("retention_ms"), integer("closed_at"), integer("erase_at"), integer("erased_at"),
        integer("monthly_credits"), integer("monthly_credits_month"), within("data_key", 1, i64::MAX), integer("low_credits_threshold"), text("low_credits_webhook"),
        flag("low_credits_notified"), integer("low_credits_notified_at"),
    ],
    is_numbered: true, ..Table::PLAIN
};

#[rustfmt::skip]
pub(super) const API_KEYS: Table = Table {
    name: "api_keys", key: &["seq"],
    columns: &[
        integer("seq"), id("id"), integer("account"), digest("sha256"), text("prefix"), text("name"),
        integer("created_at"), integer("expires_at"), integer("revoked_at"), integer("last_used_at"),
        within("scope", 0, 2),
    ],
    is_numbered: true, ..Table::PLAIN
};

#[rustfmt::skip]
pub(super) const USERS: Table = Table {
    name: "users", key: &["seq"],
    columns: &[
        integer("seq"), id("id"), text("email"), text("password"), text("issuer"), text("subject"),
        flag("is_operator"), integer("created_at"), integer("signed_in_at"),
    ],
    is_numbered: true, ..Table::PLAIN
};

#[rustfmt::skip]
pub(super) const MEMBERS: Table = Table {
    name: "members", key: &["account", "user_seq"],
    columns: &[integer("account"), integer("user_seq"), within("role", 0, 2), integer("created_at")],
    ..Table::PLAIN
};
