//! What is moved, table by table: which columns, in which form, in which order, and the statements for it.
//!
//! Not moved is what belongs to the processes at work (owners, commits, drivers, engine_reports, replicas, sweeps), what lets
//! somebody in for a while (sessions, sign_in_links, invitations, sign_in_failures), and what is written only to see whether it can be (the
//! setting `probe`). A lease is one of those processes' too: what is leased is told as waiting, and an event that is being sent as due, without the
//! try of which nothing is known yet.

use crate::store::sql::{Kind, RowsStatement};

/// A table that is kept.
pub(super) struct Table {
    /// Its name.
    pub(super) name: &'static str,
    /// Its columns, in their order.
    pub(super) columns: &'static [Column],
    /// The places of the columns by which it is walked.
    pub(super) key: &'static [usize],
    /// How many of the next rows behind a key, of so many, have no more bytes than so many; `None` where every row is
    /// small.
    pub(super) fitting: Option<&'static str>,
    /// A row, if there is any.
    pub(super) any: &'static str,
    /// So many of the next rows behind a key.
    pub(super) page: &'static str,
    /// Takes rows in.
    pub(super) insert: RowsStatement,
    /// Where PostgreSQL draws its row numbers: sets that behind the highest.
    pub(super) renumber: Option<&'static str>,
}

/// A column that is kept.
pub(super) struct Column {
    /// Its name.
    pub(super) name: &'static str,
    /// What stands in it.
    pub(super) form: Form,
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
    const fn kind(self) -> Kind {
        match self {
            Self::Integer | Self::Gathering => Kind::Integer,
            Self::Text => Kind::Text,
            Self::Bytes | Self::Json => Kind::Bytes,
        }
    }
}

/// What is read for a column: itself, unless something else is said.
macro_rules! read {
    ($column:literal) => {
        $column
    };
    ($column:literal $read:literal) => {
        $read
    };
}

/// Declares a table: the columns by which it is walked with a place for the value of each, which columns those are, what
/// of it is not kept, how much a row weighs if that can be much, whether PostgreSQL numbers its rows, and its columns.
macro_rules! table {
    (
        $name:literal by ($key:literal) > ($places:literal) at $key_columns:expr;
        $(only $only:literal;)? $(weighing $weight:literal;)? $(numbered $numbered:literal;)?
        $first:literal: $first_form:ident $(, $column:literal: $form:ident $(= $read:literal)?)*
    ) => {
        Table {
            name: $name,
            columns: &[
                Column { name: $first, form: Form::$first_form },
                $(Column { name: $column, form: Form::$form },)*
            ],
            key: &$key_columns,
            fitting: optional!($(concat!(
                "SELECT count(*) FROM (SELECT sum(weight) OVER (ORDER BY ", $key, ") AS bytes FROM (SELECT ", $key, ", ",
                $weight, " AS weight FROM ", $name, " WHERE (", $key, ") > (", $places, ") ORDER BY ", $key,
                " LIMIT ? + 0) r) s WHERE bytes <= ?"
            ))?),
            any: concat!("SELECT 1 FROM ", $name, " LIMIT 1"),
            page: concat!(
                "SELECT ", $first $(, ", ", read!($column $($read)?))*, " FROM ", $name,
                " WHERE (", $key, ") > (", $places, ")", $(" AND ", $only,)? " ORDER BY ", $key, " LIMIT ? + 0"
            ),
            insert: RowsStatement::new(
                concat!("INSERT INTO ", $name, " (", $first $(, ", ", $column)*, ")"),
                &[Form::$first_form.kind() $(, Form::$form.kind())*],
                "",
            ),
            renumber: optional!($(concat!(
                "SELECT setval(pg_get_serial_sequence('", $name, "', '", $numbered, "'), coalesce(max(", $numbered,
                "), 0) + 1, false) FROM ", $name
            ))?),
        }
    };
}

/// `Some` of what is there.
macro_rules! optional {
    () => {
        None
    };
    ($value:expr) => {
        Some($value)
    };
}

/// Every table that is kept, in the order of the file.
pub(super) static TABLES: [Table; 20] = [
    table! {
        "settings" by ("name") > ("?") at [0]; only "name <> 'probe'";
        "name": Text, "value": Bytes
    },
    table! {
        "accounts" by ("seq") > ("?") at [0]; numbered "seq";
        "seq": Integer, "id": Bytes, "name": Text, "created_at": Integer, "balance": Integer, "held": Integer,
        "payments_activated_at": Integer
    },
    table! {
        "api_keys" by ("seq") > ("?") at [0]; numbered "seq";
        "seq": Integer, "id": Bytes, "account": Integer, "sha256": Bytes, "prefix": Text, "name": Text,
        "created_at": Integer, "expires_at": Integer, "revoked_at": Integer, "last_used_at": Integer
    },
    table! {
        "models" by ("seq") > ("?") at [0]; numbered "seq";
        "seq": Integer, "name": Text
    },
    table! {
        "prices" by ("seq") > ("?") at [0]; numbered "seq";
        "seq": Integer, "input": Integer, "output": Integer
    },
    table! {
        "requests" by ("seq") > ("?") at [0];
        weighing "octet_length(body) + coalesce(octet_length(metadata), 0)"; numbered "seq";
        "seq": Integer, "id": Bytes, "account": Integer, "model": Integer, "created_at": Integer,
        "expires_at": Integer, "metadata": Json, "webhook": Text, "body": Json, "max_tokens": Integer
    },
    table! {
        "progress" by ("seq") > ("?") at [0];
        "seq": Integer, "account": Integer, "model": Integer, "state": Integer, "batch": Integer,
        "ready_at": Gathering = "CASE WHEN state = 0 THEN ready_at END", "deadline": Integer,
        "in_progress_at": Integer, "ended_at": Integer, "result_seq": Integer, "cost": Integer, "sort_key": Bytes,
        "hold": Integer, "price": Integer, "lane": Integer
    },
    table! {
        "queue" by ("model, account, sort_key, seq") > ("?, ?, ?, ?") at [0, 1, 2, 3];
        "model": Integer, "account": Integer, "sort_key": Bytes, "seq": Integer,
        "phase": Integer = "CAST(0 AS BIGINT)", "deadline": Integer, "cost": Integer, "lease_epoch": Integer,
        "owner": Integer = "CAST(NULL AS BIGINT)", "attempts": Integer, "retry_at": Integer, "suspect": Integer,
        "in_progress_at": Integer, "batch": Integer, "hold": Integer, "price": Integer, "lane": Integer
    },
    table! {
        "results" by ("seq") > ("?") at [0]; weighing "octet_length(body)"; numbered "seq";
        "seq": Integer, "request": Integer, "prompt_tokens": Integer, "completion_tokens": Integer, "body": Json
    },
    table! {
        "batches" by ("seq") > ("?") at [0]; weighing "coalesce(octet_length(metadata), 0)"; numbered "seq";
        "seq": Integer, "id": Bytes, "account": Integer, "created_at": Integer, "in_progress_at": Integer,
        "completed_at": Integer, "cancelled_at": Integer, "cancelling": Integer, "registered": Integer,
        "in_progress": Integer, "completed": Integer, "failed": Integer, "cancelled": Integer, "webhook": Text,
        "metadata": Json, "lane": Integer
    },
    table! {
        "batch_members" by ("batch, place") > ("?, ?") at [0, 1];
        "batch": Integer, "place": Integer, "ids": Bytes
    },
    table! {
        "ledger" by ("seq") > ("?") at [0]; numbered "seq";
        "seq": Integer, "account": Integer, "kind": Integer, "amount": Integer, "created_at": Integer,
        "source": Text, "request": Bytes, "result": Integer, "model": Integer
    },
    table! {
        "spend" by ("account, day, model") > ("?, ?, ?") at [0, 1, 2];
        "account": Integer, "day": Integer, "model": Integer, "requests": Integer, "prompt_tokens": Integer,
        "completion_tokens": Integer, "amount": Integer
    },
    table! {
        "payments" by ("seq") > ("?") at [0]; numbered "seq";
        "seq": Integer, "id": Bytes, "account": Integer, "provider": Text, "credits": Integer, "amount": Integer,
        "currency": Text, "created_at": Integer, "session": Text, "paid_at": Integer,
        "reference": Text
    },
    table! {
        "events" by ("seq") > ("?") at [0]; weighing "coalesce(octet_length(payload), 0)"; numbered "seq";
        "seq": Integer, "id": Bytes, "account": Integer, "lane": Integer, "kind": Integer, "request": Integer,
        "batch": Integer, "created_at": Integer, "state": Integer,
        "due_at": Integer = "CASE WHEN owner IS NOT NULL THEN claimed_at ELSE due_at END",
        "owner": Integer = "CAST(NULL AS BIGINT)", "claimed_at": Integer, "ended_at": Integer, "number": Integer = "number - CASE WHEN owner IS NOT NULL THEN 1 ELSE 0 END",
        "failures": Integer, "url": Text, "payload": Json
    },
    table! {
        "deliveries" by ("event, number") > ("?, ?") at [0, 1];
        "event": Integer, "number": Integer, "account": Integer, "started_at": Integer, "duration_ms": Integer,
        "status": Integer, "failure": Text
    },
    table! {
        "webhook_secrets" by ("seq") > ("?") at [0]; numbered "seq";
        "seq": Integer, "account": Integer, "secret": Bytes, "created_at": Integer, "expires_at": Integer
    },
    table! {
        "users" by ("seq") > ("?") at [0]; numbered "seq";
        "seq": Integer, "id": Bytes, "email": Text, "password": Text, "issuer": Text, "subject": Text,
        "is_operator": Integer, "created_at": Integer, "signed_in_at": Integer
    },
    table! {
        "members" by ("account, user_seq") > ("?, ?") at [0, 1];
        "account": Integer, "user_seq": Integer, "role": Integer, "created_at": Integer
    },
    table! {
        "activity" by ("account, quarter") > ("?, ?") at [0, 1];
        "account": Integer, "quarter": Integer, "completed": Integer, "failed": Integer, "cancelled": Integer,
        "prompt_tokens": Integer, "completion_tokens": Integer, "amount": Integer
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::tests::{Catalogue, Fixture, catalogue};

    /// Whoever adds a table or a column decides whether it moves.
    #[tokio::test]
    async fn every_column_moves_but_those_of_the_processes_at_work() {
        let mut kept = catalogue(&Fixture::on_sqlite().await).await;
        for table in [
            "commits",
            "drivers",
            "engine_reports",
            "owners",
            "replicas",
            "sessions",
            "sign_in_failures",
            "sign_in_links",
            "invitations",
            "sweeps",
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
