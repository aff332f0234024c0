//! Money, and what was used.

use super::{Table, id, integer, text, within};

#[rustfmt::skip]
pub(super) const PRICE_POINTS: Table = Table {
    name: "price_points", key: &["seq"],
    columns: &[integer("seq"), integer("input"), integer("output")],
    is_numbered: true, ..Table::PLAIN
};

#[rustfmt::skip]
pub(super) const LEDGER: Table = Table {
    name: "ledger", key: &["seq"],
    columns: &[
        integer("seq"), integer("account"), within("kind", 0, 4), integer("amount"), integer("created_at"),
        text("source"), id("request"), integer("result"), integer("model"),
    ],
    is_numbered: true, ..Table::PLAIN
};

#[rustfmt::skip]
pub(super) const SPEND: Table = Table {
    name: "spend", key: &["account", "day", "model"],
    columns: &[
        integer("account"), integer("day"), integer("model"), integer("requests"), integer("prompt_tokens"),
        integer("completion_tokens"), integer("amount"),
    ],
    ..Table::PLAIN
};

#[rustfmt::skip]
pub(super) const SPEND_BY_KEY: Table = Table {
    name: "spend_by_key", key: &["account", "day", "model", "api_key"],
    columns: &[
        integer("account"), integer("day"), integer("model"), integer("api_key"), integer("requests"), integer("prompt_tokens"),
        integer("completion_tokens"), integer("amount"),
    ],
    ..Table::PLAIN
};

#[rustfmt::skip]
pub(super) const PAYMENTS: Table = Table {
    name: "payments", key: &["seq"],
    columns: &[
        integer("seq"), id("id"), integer("account"), text("provider"), integer("credits"), integer("amount"),
        text("currency"), integer("created_at"), text("session"), integer("paid_at"), text("reference"),
        integer("check_at"),
    ],
    is_numbered: true, ..Table::PLAIN
};

#[rustfmt::skip]
pub(super) const ACTIVITY: Table = Table {
    name: "activity", key: &["account", "quarter"],
    columns: &[
        integer("account"), integer("quarter"), integer("completed"), integer("failed"), integer("cancelled"),
        integer("prompt_tokens"), integer("completion_tokens"), integer("amount"), integer("completed_1"),
        integer("failed_1"), integer("cancelled_1"), integer("tokens_1"), integer("amount_1"),
        integer("completed_2"), integer("failed_2"), integer("cancelled_2"), integer("tokens_2"),
        integer("amount_2"),
    ],
    ..Table::PLAIN
};
