//! Batches, and the files that they are made of.

use super::{Table, bytes, digest, each, flag, id, integer, json, text, within};

#[rustfmt::skip]
pub(super) const BATCHES: Table = Table {
    name: "batches", key: &["seq"],
    columns: &[
        integer("seq"), id("id"), integer("account"), integer("created_at"), integer("in_progress_at"),
        integer("completed_at"), integer("cancelled_at"), flag("cancelling"), integer("registered"),
        integer("in_progress"), integer("completed"), integer("failed"), integer("cancelled"), text("webhook"),
        json("metadata"), integer("lane"), integer("deleted"), integer("input_bytes"), integer("output_bytes"),
        integer("error_bytes"), integer("grouping_at"),
    ],
    weight: Some("coalesce(octet_length(metadata), 0)"), added: 4, is_numbered: true, ..Table::PLAIN
};

#[rustfmt::skip]
pub(super) const BATCH_MEMBERS: Table = Table {
    name: "batch_members", key: &["batch", "place"],
    columns: &[integer("batch"), integer("place"), each("ids", 16)],
    ..Table::PLAIN
};

#[rustfmt::skip]
pub(super) const BATCH_ENDS: Table = Table {
    name: "batch_ends", key: &["batch", "ended"],
    columns: &[integer("batch"), integer("ended"), each("requests", 8)],
    ..Table::PLAIN
};

#[rustfmt::skip]
pub(super) const FILES: Table = Table {
    name: "files", key: &["seq"],
    columns: &[
        integer("seq"), id("id"), integer("account"), within("state", 0, 2), integer("created_at"), integer("expires_at"),
        integer("bytes"), text("name"), text("endpoint"), integer("lines"), integer("hold"), integer("fault_count"),
        json("faults"), integer("upload"),
    ],
    weight: Some("coalesce(octet_length(faults), 0)"), is_numbered: true, ..Table::PLAIN
};

#[rustfmt::skip]
pub(super) const UPLOADS: Table = Table {
    name: "uploads", key: &["seq"],
    columns: &[
        integer("seq"), id("id"), integer("account"), within("state", 0, 2), integer("created_at"), integer("expires_at"),
        integer("bytes"), text("name"), integer("file_lasts_ms"), id("file"), digest("digest"),
    ],
    is_numbered: true, ..Table::PLAIN
};

#[rustfmt::skip]
pub(super) const FILE_PIECES: Table = Table {
    name: "file_pieces", key: &["file", "place"],
    columns: &[
        integer("file"), integer("place"), bytes("content"), integer("bytes"),
    ],
    weight: Some("octet_length(content)"), ..Table::PLAIN
};

#[rustfmt::skip]
pub(super) const BATCH_INPUTS: Table = Table {
    name: "batch_inputs", key: &["batch"],
    columns: &[
        integer("batch"), integer("account"), flag("state"), integer("file"), id("file_id"), text("endpoint"),
        integer("lines"), integer("filled"), integer("next_piece"), integer("next_line"),
        integer("filler_at").read_as("CAST(0 AS BIGINT)"), integer("fault_count"), json("faults"),
        within("deleted_outputs", 0, 3), integer("api_key"),
    ],
    weight: Some("coalesce(octet_length(faults), 0)"), ..Table::PLAIN
};
