//! The transferred tables: their columns, form and order, and the statements for them.
//!
//! Not transferred: the state of running nodes (nodes, commit_markers, node_replicas, engine_reports, replicas, segments),
//! what was used of daily budgets (engine_days), temporary access (sessions, sign_in_links, invitations, sign_in_failures), and the writer's test write (the setting
//! `test_write`). A lease belongs to a running node too: a leased request is exported as waiting, and an event that is
//! being sent as due, without the delivery whose outcome is unknown.

mod batches;
mod identity;
mod ledger;
mod outbox;
mod requests;
mod service;

use crate::database::{self, Kind};

pub(super) struct Table {
    pub(super) name: &'static str,
    /// Columns by which it is walked.
    pub(super) key: &'static [&'static str],
    pub(super) columns: &'static [Column],
    /// A condition for rows that are kept; `None` for all.
    pub(super) only: Option<&'static str>,
    /// Bytes of a row; `None` if every row is small.
    pub(super) weight: Option<&'static str>,
    /// How many of the last columns are numbers that exports of schemas before 43 may lack; they are null there.
    pub(super) added: usize,
    /// Whether PostgreSQL draws the row numbers of `seq`.
    pub(super) is_numbered: bool,
}

#[derive(Clone, Copy)]
pub(super) struct Column {
    pub(super) name: &'static str,
    pub(super) form: Form,
    /// Read in its place; by default itself.
    pub(super) read: &'static str,
}

/// A column's kind, and its form in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Integer,
    /// A number from one to another; a code, for example.
    Within(i64, i64),
    /// A number only of gathering requests, `null` otherwise. SQLite needs one in every row, and gets 0.
    Gathering,
    Text,
    /// As base64.
    Bytes,
    /// As base64, so many.
    Exactly(usize),
    /// As base64, identifiers or row numbers of so many bytes one after the other.
    Each(usize),
    /// A line of JSON as bytes, in the file a string.
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
            Self::Integer | Self::Within(..) | Self::Gathering => Kind::Integer,
            Self::Text => Kind::Text,
            // The databases have no kind for JSON.
            Self::Bytes | Self::Exactly(_) | Self::Each(_) | Self::Json => Kind::Bytes,
        }
    }
}

impl Table {
    const PLAIN: Self =
        Self { name: "", key: &[], columns: &[], only: None, weight: None, added: 0, is_numbered: false };
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

/// A number between `lowest` and `highest`, such as a code.
const fn within(name: &'static str, lowest: i64, highest: i64) -> Column {
    Column::new(name, Form::Within(lowest, highest))
}

/// 0 or 1.
const fn flag(name: &'static str) -> Column {
    within(name, 0, 1)
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

/// An identifier: 16 bytes.
const fn id(name: &'static str) -> Column {
    Column::new(name, Form::Exactly(16))
}

/// A SHA-256, or a secret that is as long: 32 bytes.
const fn digest(name: &'static str) -> Column {
    Column::new(name, Form::Exactly(32))
}

/// Values of so many bytes.
const fn each(name: &'static str, length: usize) -> Column {
    Column::new(name, Form::Each(length))
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

/// The columns, of which some have another form of the same kind.
const fn with<const N: usize>(mut columns: [Column; N], forms: &[Column]) -> [Column; N] {
    let mut form = 0;
    while form < forms.len() {
        let mut place = 0;
        while !is_same(columns[place].name, forms[form].name) {
            place += 1;
        }
        columns[place] = forms[form];
        form += 1;
    }
    columns
}

const fn is_same(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    let mut place = 0;
    while place < one.len() && place < other.len() && one[place] == other[place] {
        place += 1;
    }
    one.len() == other.len() && place == one.len()
}

/// In the order of the file.
pub(super) static TABLES: [Table; 31] = [
    service::SETTINGS,
    service::LAST_DELETED,
    identity::ACCOUNTS,
    identity::API_KEYS,
    service::MODELS,
    ledger::PRICE_POINTS,
    requests::REQUESTS,
    requests::REQUEST_STATES,
    requests::QUEUE,
    requests::RESULTS,
    requests::OBJECTS,
    requests::ATTEMPTS,
    batches::BATCHES,
    batches::BATCH_MEMBERS,
    batches::BATCH_ENDS,
    batches::FILES,
    batches::UPLOADS,
    batches::FILE_PIECES,
    batches::BATCH_INPUTS,
    ledger::LEDGER,
    ledger::SPEND,
    ledger::SPEND_BY_KEY,
    ledger::PAYMENTS,
    outbox::EVENTS,
    outbox::DELIVERIES,
    outbox::WEBHOOK_SECRETS,
    identity::USERS,
    identity::MEMBERS,
    ledger::ACTIVITY,
    service::AUDIT_LOG,
    service::IDEMPOTENCY_KEYS,
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::database::sql;
    use crate::requests::records;
    use crate::tests::{Catalogue, Fixture, catalogue};

    /// Rows of an export have no column names: another order would be another format.
    #[tokio::test]
    async fn the_columns_of_requests_are_in_the_order_of_the_table() {
        let fixture = Fixture::on_sqlite().await;
        let query = "SELECT name FROM pragma_table_info('requests') ORDER BY cid";
        let mut connection = fixture.store.connect().await.expect("a connection");
        let rows = connection.fetch(sql(query)).await.expect("the columns");
        let names: Vec<String> = rows.iter().map(|row| row.get("name").expect("a name")).collect();
        assert_eq!(names, records::COLUMNS.iter().map(database::Column::name).collect::<Vec<_>>());
    }

    /// A new table or column needs a decision whether it moves.
    #[tokio::test]
    async fn every_column_moves_but_those_of_the_processes_at_work() {
        let mut kept = catalogue(&Fixture::on_sqlite().await).await;
        for table in [
            "commit_markers",
            "node_replicas",
            "engine_reports",
            "engine_days",
            "request_blocks",
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
