//! What is told to receivers, and how far that has come.

use super::{Table, digest, id, integer, json, text, within};

#[rustfmt::skip]
pub(super) const EVENTS: Table = Table {
    name: "events", key: &["seq"],
    columns: &[
        integer("seq"), id("id"), integer("account"), integer("lane"), within("kind", 0, 6), integer("request"),
        integer("batch"), integer("created_at"), within("state", 0, 2),
        integer("due_at").read_as("CASE WHEN node IS NOT NULL THEN claimed_at ELSE due_at END"),
        integer("node").read_as("CAST(NULL AS BIGINT)"), integer("claimed_at"), integer("ended_at"),
        integer("number").read_as("number - CASE WHEN node IS NOT NULL THEN 1 ELSE 0 END"), integer("failures"),
        integer("tries_max"), text("url"), json("payload"),
    ],
    weight: Some("coalesce(octet_length(payload), 0)"), is_numbered: true, ..Table::PLAIN
};

#[rustfmt::skip]
pub(super) const DELIVERIES: Table = Table {
    name: "deliveries", key: &["event", "number"],
    columns: &[
        integer("event"), integer("number"), integer("account"), integer("started_at"), integer("duration_ms"),
        integer("status"), text("failure"),
    ],
    ..Table::PLAIN
};

#[rustfmt::skip]
pub(super) const WEBHOOK_SECRETS: Table = Table {
    name: "webhook_secrets", key: &["seq"],
    columns: &[integer("seq"), integer("account"), digest("secret"), integer("created_at"), integer("expires_at")],
    is_numbered: true, ..Table::PLAIN
};
