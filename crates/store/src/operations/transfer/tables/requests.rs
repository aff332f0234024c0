//! Requests, and how they stand.

use super::{Table, bytes, flag, gathering, id, inserted, integer, json, text, with, within};
use crate::requests::records;

#[rustfmt::skip]
pub(super) const REQUESTS: Table = Table {
    name: "requests", key: &["seq"],
    columns: &with(
        inserted::<{ records::COLUMNS.len() }, _>(records::COLUMNS),
        &[id("id"), within("endpoint", 0, 2)],
    ),
    weight: Some("octet_length(body) + coalesce(octet_length(metadata), 0)"), is_numbered: true, ..Table::PLAIN
};

#[rustfmt::skip]
pub(super) const REQUEST_STATES: Table = Table {
    name: "request_states", key: &["seq"],
    columns: &[
        integer("seq"), integer("account"), integer("model"), within("state", 0, 5), integer("batch"),
        gathering("ready_at").read_as("CASE WHEN state = 0 THEN ready_at END"), integer("deadline"),
        integer("in_progress_at"), integer("ended_at"), integer("result_seq"), integer("cost"), bytes("sort_key"),
        integer("hold"), integer("price"), integer("lane"), integer("released_at"), integer("api_key"),
    ],
    ..Table::PLAIN
};

#[rustfmt::skip]
pub(super) const QUEUE: Table = Table {
    name: "queue", key: &["model", "account", "sort_key", "seq"],
    columns: &[
        integer("model"), integer("account"), bytes("sort_key"), integer("seq"),
        flag("phase").read_as("CAST(0 AS BIGINT)"), integer("deadline"), integer("cost"), integer("lease_epoch"),
        integer("node").read_as("CAST(NULL AS BIGINT)"), integer("attempts"), integer("retry_at"),
        flag("suspect"), integer("in_progress_at"), integer("batch"), integer("hold"), integer("price"),
        integer("lane"),
    ],
    ..Table::PLAIN
};

#[rustfmt::skip]
pub(super) const RESULTS: Table = Table {
    name: "results", key: &["seq"],
    columns: &[
        integer("seq"), integer("request"), integer("prompt_tokens"), integer("completion_tokens"), json("body"),
        json("warnings"), text("engine"),
    ],
    weight: Some("octet_length(body)"), is_numbered: true, ..Table::PLAIN
};

#[rustfmt::skip]
pub(super) const OBJECTS: Table = Table {
    name: "objects", key: &["name"],
    columns: &[
        id("name"), integer("account"), integer("request"), integer("bytes"), within("state", 0, 3), integer("created_at"), integer("delete_at"),
    ],
    ..Table::PLAIN
};

#[rustfmt::skip]
pub(super) const ATTEMPTS: Table = Table {
    name: "attempts", key: &["request", "number"],
    columns: &[
        integer("request"), integer("number"), integer("ended_at"), integer("status"), text("message"), text("engine"),
    ],
    ..Table::PLAIN
};
