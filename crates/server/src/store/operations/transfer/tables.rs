//! The transferred tables: their columns, form and order, and the statements for them.
//!
//! Not transferred: the state of running nodes (nodes, commit_markers, node_replicas, engine_reports, replicas, segments),
//! what was used of daily budgets (engine_days), temporary access (sessions, sign_in_links, invitations, sign_in_failures), and the writer's test write (the setting
//! `test_write`). A lease belongs to a running node too: a leased request is exported as waiting, and an event that is
//! being sent as due, without the delivery whose outcome is unknown.

use crate::store::database::{self, Kind};
use crate::store::requests::records;

/// A table that is kept.
pub(super) struct Table {
    /// Its name.
    pub(super) name: &'static str,
    /// The columns by which it is walked.
    pub(super) key: &'static [&'static str],
    /// Its columns, in their order.
    pub(super) columns: &'static [Column],
    /// Which of its rows are kept; `None` for all.
    pub(super) only: Option<&'static str>,
    /// How many bytes a row has; `None` where every row is small.
    pub(super) weight: Option<&'static str>,
    /// Whether PostgreSQL draws the row numbers of `seq`.
    pub(super) is_numbered: bool,
}

/// A column that is kept.
#[derive(Clone, Copy)]
pub(super) struct Column {
    /// Its name.
    pub(super) name: &'static str,
    /// What stands in it.
    pub(super) form: Form,
    /// What is read for it: itself, unless something else is said.
    pub(super) read: &'static str,
}

/// What a column holds, and how that stands in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// A number.
    Integer,
    /// A number that says something of what gathers alone, and is `null` elsewhere. SQLite wants one in every row, and
    /// gets 0.
    Gathering,
    /// A text.
    Text,
    /// Bytes, as a string of base64.
    Bytes,
    /// Bytes that are text, as the string.
    Json,
}

impl Form {
    const fn of(kind: Kind) -> Self {
        match kind {
            Kind::Integer => Self::Integer,
            Kind::Bytes => Self::Bytes,
            Kind::Json => Self::Json,
            Kind::Text => Self::Text,
        }
    }

    pub(super) const fn kind(self) -> Kind {
        match self {
            Self::Integer | Self::Gathering => Kind::Integer,
            Self::Text => Kind::Text,
            // The databases know no kind of their own for JSON.
            Self::Bytes | Self::Json => Kind::Bytes,
        }
    }
}

impl Table {
    const PLAIN: Self =
        Self { name: "", key: &[], columns: &[], only: None, weight: None, is_numbered: false };
}

impl Column {
    const fn new(name: &'static str, form: Form) -> Self {
        Self { name, form, read: name }
    }

    const fn read_as(self, read: &'static str) -> Self {
        Self { read, ..self }
    }
}

const fn integer(name: &'static str) -> Column {
    Column::new(name, Form::Integer)
}

const fn gathering(name: &'static str) -> Column {
    Column::new(name, Form::Gathering)
}

const fn text(name: &'static str) -> Column {
    Column::new(name, Form::Text)
}

const fn bytes(name: &'static str) -> Column {
    Column::new(name, Form::Bytes)
}

const fn json(name: &'static str) -> Column {
    Column::new(name, Form::Json)
}

/// The columns that a new row fills.
const fn inserted<const N: usize, R>(columns: &[database::Column<R>]) -> [Column; N] {
    let mut all = [integer(""); N];
    let mut place = 0;
    while place < N {
        let column = &columns[place];
        all[place] = Column::new(column.name(), Form::of(column.kind().expect("a value in each column")));
        place += 1;
    }
    all
}

/// Every table that is kept, in the order of the file.
#[rustfmt::skip]
pub(super) static TABLES: [Table; 30] = [
    Table {
        name: "settings", key: &["name"],
        columns: &[text("name"), bytes("value")],
        only: Some("name <> 'test_write'"), ..Table::PLAIN
    },
    Table {
        name: "last_deleted", key: &["table_name"],
        columns: &[text("table_name"), integer("seq")],
        ..Table::PLAIN
    },
    Table {
        name: "accounts", key: &["seq"],
        columns: &[
            integer("seq"), bytes("id"), text("name"), integer("created_at"), integer("balance"), integer("held"), integer("payments_activated_at"),
            integer("live_requests"), integer("stored_bytes"), integer("live_requests_quota"), integer("stored_bytes_quota"), integer("requests_per_second_quota"),
            integer("tokens_per_day_quota"), integer("suspended_at"), integer("retention_ms"), integer("closed_at"), integer("erase_at"), integer("erased_at"),
            integer("monthly_credits"), integer("monthly_credits_month"), integer("data_key"), integer("low_credits_threshold"), text("low_credits_webhook"),
            integer("low_credits_notified"), integer("low_credits_notified_at"),
        ],
        is_numbered: true, ..Table::PLAIN
    },
    Table {
        name: "api_keys", key: &["seq"],
        columns: &[
            integer("seq"), bytes("id"), integer("account"), bytes("sha256"), text("prefix"), text("name"),
            integer("created_at"), integer("expires_at"), integer("revoked_at"), integer("last_used_at"),
            integer("scope"),
        ],
        is_numbered: true, ..Table::PLAIN
    },
    Table {
        name: "models", key: &["seq"],
        columns: &[integer("seq"), text("name")],
        is_numbered: true, ..Table::PLAIN
    },
    Table {
        name: "price_points", key: &["seq"],
        columns: &[integer("seq"), integer("input"), integer("output")],
        is_numbered: true, ..Table::PLAIN
    },
    Table {
        name: "requests", key: &["seq"],
        columns: &inserted::<{ records::COLUMNS.len() }, _>(records::COLUMNS),
        weight: Some("octet_length(body) + coalesce(octet_length(metadata), 0)"), is_numbered: true, ..Table::PLAIN
    },
    Table {
        name: "request_states", key: &["seq"],
        columns: &[
            integer("seq"), integer("account"), integer("model"), integer("state"), integer("batch"),
            gathering("ready_at").read_as("CASE WHEN state = 0 THEN ready_at END"), integer("deadline"),
            integer("in_progress_at"), integer("ended_at"), integer("result_seq"), integer("cost"), bytes("sort_key"),
            integer("hold"), integer("price"), integer("lane"), integer("released_at"),
        ],
        ..Table::PLAIN
    },
    Table {
        name: "queue", key: &["model", "account", "sort_key", "seq"],
        columns: &[
            integer("model"), integer("account"), bytes("sort_key"), integer("seq"),
            integer("phase").read_as("CAST(0 AS BIGINT)"), integer("deadline"), integer("cost"), integer("lease_epoch"),
            integer("node").read_as("CAST(NULL AS BIGINT)"), integer("attempts"), integer("retry_at"),
            integer("suspect"), integer("in_progress_at"), integer("batch"), integer("hold"), integer("price"),
            integer("lane"),
        ],
        ..Table::PLAIN
    },
    Table {
        name: "results", key: &["seq"],
        columns: &[
            integer("seq"), integer("request"), integer("prompt_tokens"), integer("completion_tokens"), json("body"),
            json("warnings"), text("engine"),
        ],
        weight: Some("octet_length(body)"), is_numbered: true, ..Table::PLAIN
    },
    Table {
        name: "objects", key: &["name"],
        columns: &[
            bytes("name"), integer("account"), integer("request"), integer("bytes"), integer("state"), integer("created_at"), integer("delete_at"),
        ],
        ..Table::PLAIN
    },
    Table {
        name: "attempts", key: &["request", "number"],
        columns: &[
            integer("request"), integer("number"), integer("ended_at"), integer("status"), text("message"), text("engine"),
        ],
        ..Table::PLAIN
    },
    Table {
        name: "batches", key: &["seq"],
        columns: &[
            integer("seq"), bytes("id"), integer("account"), integer("created_at"), integer("in_progress_at"),
            integer("completed_at"), integer("cancelled_at"), integer("cancelling"), integer("registered"),
            integer("in_progress"), integer("completed"), integer("failed"), integer("cancelled"), text("webhook"),
            json("metadata"), integer("lane"), integer("deleted"),
        ],
        weight: Some("coalesce(octet_length(metadata), 0)"), is_numbered: true, ..Table::PLAIN
    },
    Table {
        name: "batch_members", key: &["batch", "place"],
        columns: &[integer("batch"), integer("place"), bytes("ids")],
        ..Table::PLAIN
    },
    Table {
        name: "batch_ends", key: &["batch", "ended"],
        columns: &[integer("batch"), integer("ended"), bytes("requests")],
        ..Table::PLAIN
    },
    Table {
        name: "files", key: &["seq"],
        columns: &[
            integer("seq"), bytes("id"), integer("account"), integer("state"), integer("created_at"), integer("expires_at"),
            integer("bytes"), text("name"), text("endpoint"), integer("lines"), integer("hold"), integer("fault_count"),
            json("faults"), integer("upload"),
        ],
        weight: Some("coalesce(octet_length(faults), 0)"), is_numbered: true, ..Table::PLAIN
    },
    Table {
        name: "uploads", key: &["seq"],
        columns: &[
            integer("seq"), bytes("id"), integer("account"), integer("state"), integer("created_at"), integer("expires_at"),
            integer("bytes"), text("name"), integer("file_lasts_ms"), bytes("file"), bytes("digest"),
        ],
        is_numbered: true, ..Table::PLAIN
    },
    Table {
        name: "file_pieces", key: &["file", "place"],
        columns: &[
            integer("file"), integer("place"), bytes("content"), integer("bytes"),
        ],
        weight: Some("octet_length(content)"), ..Table::PLAIN
    },
    Table {
        name: "batch_inputs", key: &["batch"],
        columns: &[
            integer("batch"), integer("account"), integer("state"), integer("file"), bytes("file_id"), text("endpoint"),
            integer("lines"), integer("filled"), integer("next_piece"), integer("next_line"),
            integer("filler_at").read_as("CAST(0 AS BIGINT)"), integer("fault_count"), json("faults"),
            integer("deleted_outputs"),
        ],
        weight: Some("coalesce(octet_length(faults), 0)"), ..Table::PLAIN
    },
    Table {
        name: "ledger", key: &["seq"],
        columns: &[
            integer("seq"), integer("account"), integer("kind"), integer("amount"), integer("created_at"),
            text("source"), bytes("request"), integer("result"), integer("model"),
        ],
        is_numbered: true, ..Table::PLAIN
    },
    Table {
        name: "spend", key: &["account", "day", "model"],
        columns: &[
            integer("account"), integer("day"), integer("model"), integer("requests"), integer("prompt_tokens"),
            integer("completion_tokens"), integer("amount"),
        ],
        ..Table::PLAIN
    },
    Table {
        name: "payments", key: &["seq"],
        columns: &[
            integer("seq"), bytes("id"), integer("account"), text("provider"), integer("credits"), integer("amount"),
            text("currency"), integer("created_at"), text("session"), integer("paid_at"), text("reference"),
            integer("check_at"),
        ],
        is_numbered: true, ..Table::PLAIN
    },
    Table {
        name: "events", key: &["seq"],
        columns: &[
            integer("seq"), bytes("id"), integer("account"), integer("lane"), integer("kind"), integer("request"),
            integer("batch"), integer("created_at"), integer("state"),
            integer("due_at").read_as("CASE WHEN node IS NOT NULL THEN claimed_at ELSE due_at END"),
            integer("node").read_as("CAST(NULL AS BIGINT)"), integer("claimed_at"), integer("ended_at"),
            integer("number").read_as("number - CASE WHEN node IS NOT NULL THEN 1 ELSE 0 END"), integer("failures"),
            integer("tries_max"), text("url"), json("payload"),
        ],
        weight: Some("coalesce(octet_length(payload), 0)"), is_numbered: true, ..Table::PLAIN
    },
    Table {
        name: "deliveries", key: &["event", "number"],
        columns: &[
            integer("event"), integer("number"), integer("account"), integer("started_at"), integer("duration_ms"),
            integer("status"), text("failure"),
        ],
        ..Table::PLAIN
    },
    Table {
        name: "webhook_secrets", key: &["seq"],
        columns: &[integer("seq"), integer("account"), bytes("secret"), integer("created_at"), integer("expires_at")],
        is_numbered: true, ..Table::PLAIN
    },
    Table {
        name: "users", key: &["seq"],
        columns: &[
            integer("seq"), bytes("id"), text("email"), text("password"), text("issuer"), text("subject"),
            integer("is_operator"), integer("created_at"), integer("signed_in_at"),
        ],
        is_numbered: true, ..Table::PLAIN
    },
    Table {
        name: "members", key: &["account", "user_seq"],
        columns: &[integer("account"), integer("user_seq"), integer("role"), integer("created_at")],
        ..Table::PLAIN
    },
    Table {
        name: "activity", key: &["account", "quarter"],
        columns: &[
            integer("account"), integer("quarter"), integer("completed"), integer("failed"), integer("cancelled"),
            integer("prompt_tokens"), integer("completion_tokens"), integer("amount"), integer("completed_1"),
            integer("failed_1"), integer("cancelled_1"), integer("tokens_1"), integer("amount_1"),
            integer("completed_2"), integer("failed_2"), integer("cancelled_2"), integer("tokens_2"),
            integer("amount_2"),
        ],
        ..Table::PLAIN
    },
    Table {
        name: "audit_log", key: &["seq"],
        columns: &[
            integer("seq"), integer("created_at"), integer("actor_kind"), text("actor_id"), text("actor_name"),
            integer("is_operator"), integer("account"), text("action"), text("target_type"), text("target_id"),
            text("details"), text("address"),
        ],
        is_numbered: true, ..Table::PLAIN
    },
    Table {
        name: "idempotency_keys", key: &["account", "key"],
        columns: &[
            integer("account"), bytes("key"), bytes("digest"), bytes("response"), integer("created_at"),
        ],
        ..Table::PLAIN
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::database::sql;
    use crate::store::tests::{Catalogue, Fixture, catalogue};

    /// Rows of an export have no names: another order would be another format.
    #[tokio::test]
    async fn the_columns_of_requests_are_in_the_order_of_the_table() {
        let fixture = Fixture::on_sqlite().await;
        let query = "SELECT name FROM pragma_table_info('requests') ORDER BY cid";
        let mut connection = fixture.store.connect().await.expect("a connection");
        let rows = connection.fetch(sql(query)).await.expect("the columns");
        let names: Vec<String> = rows.iter().map(|row| row.get("name").expect("a name")).collect();
        assert_eq!(names, records::COLUMNS.iter().map(database::Column::name).collect::<Vec<_>>());
    }

    /// Whoever adds a table or a column decides whether it moves.
    #[tokio::test]
    async fn every_column_moves_but_those_of_the_processes_at_work() {
        let mut kept = catalogue(&Fixture::on_sqlite().await).await;
        for table in [
            "commit_markers",
            "node_replicas",
            "engine_reports",
            "engine_days",
            "nodes",
            "replicas",
            "sessions",
            "sign_in_failures",
            "sign_in_links",
            "invitations",
            "segments",
        ] {
            kept.remove(table).expect("a table that is not moved");
        }
        let moved = TABLES.iter().map(|table| {
            let columns = table.columns.iter().map(|column| (column.name.to_owned(), column.form.kind()));
            (table.name.to_owned(), columns.collect())
        });
        assert_eq!(kept, moved.collect::<Catalogue>());
    }
}
