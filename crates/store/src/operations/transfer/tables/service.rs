//! What the service itself keeps.

use super::{Table, bytes, digest, flag, integer, text, within};

#[rustfmt::skip]
pub(super) const SETTINGS: Table = Table {
    name: "settings", key: &["name"],
    columns: &[text("name"), bytes("value")],
    only: Some("name <> 'test_write'"), ..Table::PLAIN
};

#[rustfmt::skip]
pub(super) const LAST_DELETED: Table = Table {
    name: "last_deleted", key: &["table_name"],
    columns: &[text("table_name"), integer("seq")],
    ..Table::PLAIN
};

#[rustfmt::skip]
pub(super) const MODELS: Table = Table {
    name: "models", key: &["seq"],
    columns: &[integer("seq"), text("name")],
    is_numbered: true, ..Table::PLAIN
};

#[rustfmt::skip]
pub(super) const AUDIT_LOG: Table = Table {
    name: "audit_log", key: &["seq"],
    columns: &[
        integer("seq"), integer("created_at"), within("actor_kind", 0, 3), text("actor_id"), text("actor_name"),
        flag("is_operator"), integer("account"), text("action"), text("target_type"), text("target_id"),
        text("details"), text("address"),
    ],
    is_numbered: true, ..Table::PLAIN
};

#[rustfmt::skip]
pub(super) const IDEMPOTENCY_KEYS: Table = Table {
    name: "idempotency_keys", key: &["account", "key"],
    columns: &[
        integer("account"), digest("key"), digest("digest"), bytes("response"), integer("created_at"), integer("bytes"),
    ],
    added: 1,
    ..Table::PLAIN
};
