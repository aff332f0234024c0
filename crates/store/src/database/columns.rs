//! The columns of a table, declared once: insert statements and their values are made from them.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use crate::database::sql::Sql;
use crate::database::statement::Statement;
use crate::database::value::{Kind, Value};

/// A column, and its value in a new row made of an `R`.
pub(crate) struct Column<R: 'static> {
    name: &'static str,
    content: Content<R>,
}

enum Content<R: 'static> {
    /// The row number.
    Number,
    Value(Kind, fn(&R) -> Value),
    /// A value of perhaps several MiB.
    Long(Kind, fn(&R) -> Value),
    /// The same SQL expression in every new row.
    Fixed(&'static str),
}

impl<R> Column<R> {
    pub(crate) const fn number(name: &'static str) -> Self {
        Self { name, content: Content::Number }
    }

    pub(crate) const fn new(name: &'static str, kind: Kind, value: fn(&R) -> Value) -> Self {
        Self { name, content: Content::Value(kind, value) }
    }

    /// For values of perhaps several MiB. PostgreSQL copies the columns of a list of rows several times, and through files beyond its
    /// `work_mem`; for this one it takes each value from the array that was sent, by the number of the row.
    pub(crate) const fn long(name: &'static str, kind: Kind, value: fn(&R) -> Value) -> Self {
        Self { name, content: Content::Long(kind, value) }
    }

    pub(crate) const fn fixed(name: &'static str, text: &'static str) -> Self {
        Self { name, content: Content::Fixed(text) }
    }

    pub(crate) const fn name(&self) -> &'static str {
        self.name
    }

    /// `None` if it is not a value of the statement.
    pub(crate) const fn kind(&self) -> Option<Kind> {
        match self.content {
            Content::Number => Some(Kind::Integer),
            Content::Value(kind, _) | Content::Long(kind, _) => Some(kind),
            Content::Fixed(_) => None,
        }
    }

    fn value(&self, number: i64, row: &R) -> Option<Value> {
        match self.content {
            Content::Number => Some(number.into()),
            Content::Value(_, value) | Content::Long(_, value) => Some(value(row)),
            Content::Fixed(_) => None,
        }
    }

    fn sent(&self) -> Option<Sent> {
        let is_long = matches!(self.content, Content::Long(..));
        Some(Sent { name: self.name, kind: self.kind()?, is_long })
    }

    /// Its expression on PostgreSQL: its name, its fixed text, or its place in an array.
    fn expression(&self, sent: &[Sent]) -> String {
        match self.content {
            Content::Fixed(text) => text.to_owned(),
            Content::Long(..) => (1..)
                .zip(sent)
                .filter(|(_, it)| it.name == self.name)
                .map(|(place, it)| format!("({})[{PLACE}]", it.array(place)))
                .collect(),
            _ => self.name.to_owned(),
        }
    }
}

#[derive(Clone, Copy)]
struct Sent {
    name: &'static str,
    kind: Kind,
    is_long: bool,
}

impl Sent {
    /// The array of its values: the parameter with this number.
    fn array(&self, place: usize) -> String {
        format!("${place}::{}[]", self.kind.on_postgres())
    }
}

/// The number of a row in the arrays that were sent.
const PLACE: &str = "place";

/// A table and the columns that a new row fills.
pub(crate) struct Columns<R: 'static> {
    table: &'static str,
    columns: &'static [Column<R>],
    insert: OnceLock<Sql>,
}

impl<R> Columns<R> {
    pub(crate) const fn new(table: &'static str, columns: &'static [Column<R>]) -> Self {
        Self { table, columns, insert: OnceLock::new() }
    }

    pub(crate) fn insert<'r>(&self, rows: impl IntoIterator<Item = (i64, &'r R)>) -> Statement {
        let rows = rows.into_iter();
        let mut values = Vec::with_capacity(rows.size_hint().0 * self.columns.len());
        for (number, row) in rows {
            values.extend(self.columns.iter().filter_map(|it| it.value(number, row)));
        }
        self.sql().over([], values)
    }

    /// Made on first use.
    pub(crate) fn sql(&self) -> Sql {
        *self.insert.get_or_init(|| {
            let sent: Vec<Sent> = self.columns.iter().filter_map(Column::sent).collect();
            let places: Vec<String> = (1..=sent.len()).map(|place| format!("?{place}")).collect();
            let mut places = places.iter().map(String::as_str);
            let sqlite = self.columns.iter().map(|it| match it.content {
                Content::Fixed(text) => text,
                _ => places.next().unwrap_or_default(),
            });
            let sqlite = format!("{} VALUES ({})", self.head(), list(sqlite));
            let postgres = format!("{} {}", self.head(), self.select(&rows_on_postgres(&sent), &sent));
            made(self.table, sqlite, postgres, &sent)
        })
    }

    fn head(&self) -> String {
        format!("INSERT INTO {} ({})", self.table, list(self.columns.iter().map(|it| it.name)))
    }

    fn select(&self, from: &str, sent: &[Sent]) -> String {
        let expressions: Vec<String> = self.columns.iter().map(|it| it.expression(sent)).collect();
        format!("SELECT {} FROM {from}", expressions.join(", "))
    }
}

/// Inserts into two tables in one statement on PostgreSQL: a row of each for an `R`, under one number, drawn in the order of the list and
/// returned in it. A column that both tables have is sent once.
pub(crate) struct JointColumns<R: 'static> {
    sequence: &'static str,
    tables: [&'static Columns<R>; 2],
    insert: OnceLock<Sql>,
}

impl<R> JointColumns<R> {
    pub(crate) const fn new(sequence: &'static str, tables: [&'static Columns<R>; 2]) -> Self {
        Self { sequence, tables, insert: OnceLock::new() }
    }

    pub(crate) fn insert<'r>(&self, rows: impl IntoIterator<Item = &'r R>) -> Statement {
        let (given, rows) = (self.given(), rows.into_iter());
        let mut values = Vec::with_capacity(rows.size_hint().0 * given.len());
        for row in rows {
            values.extend(given.iter().map(|(_, value)| value(row)));
        }
        self.sql().over([], values)
    }

    /// Made on first use.
    pub(crate) fn sql(&self) -> Sql {
        *self.insert.get_or_init(|| {
            let [first, second] = self.tables;
            let sent: Vec<Sent> = self.given().into_iter().map(|(sent, _)| sent).collect();
            let number = first.columns.iter().find(|it| matches!(it.content, Content::Number));
            let number = number.map_or("seq", |it| it.name);
            let postgres = format!(
                "WITH v AS (SELECT * FROM {}), numbered AS MATERIALIZED (SELECT nextval('{}') AS {number}, v.* FROM v), stored AS ({} {}) {} {} \
                 RETURNING {number}",
                rows_on_postgres(&sent),
                self.sequence,
                first.head(),
                first.select("numbered", &sent),
                second.head(),
                second.select("numbered", &sent),
            );
            made(first.table, String::new(), postgres, &sent)
        })
    }

    /// The columns of both tables without the numbers, each once.
    fn given(&self) -> Vec<Given<R>> {
        let mut seen = BTreeSet::new();
        let columns = self.tables.into_iter().flat_map(|table| table.columns);
        let given = columns.filter_map(|it| match it.content {
            Content::Value(_, value) | Content::Long(_, value) if seen.insert(it.name) => {
                Some((it.sent()?, value))
            }
            _ => None,
        });
        given.collect()
    }
}

/// A column whose values are sent, and their source.
type Given<R> = (Sent, fn(&R) -> Value);

/// A list of rows on PostgreSQL: an array for each column; for long columns, row numbers.
fn rows_on_postgres(sent: &[Sent]) -> String {
    let is_short = |(_, it): &(usize, &Sent)| !it.is_long;
    let arrays: Vec<String> = (1..).zip(sent).filter(is_short).map(|(place, it)| it.array(place)).collect();
    let names = list(sent.iter().filter(|it| !it.is_long).map(|it| it.name));
    let unnest = unnest(&arrays);
    if sent.iter().any(|it| it.is_long) {
        return format!("{unnest} WITH ORDINALITY AS v({names}, {PLACE})");
    }
    format!("{unnest} AS v({names})")
}

/// The rows of parallel arrays. PostgreSQL has a form of its own for several arrays, which no other function can replace; a function of one
/// array is named with its schema, because a schema of the search_path could have a better match.
pub(crate) fn unnest(arrays: &[String]) -> String {
    let schema = if arrays.len() == 1 { "pg_catalog." } else { "" };
    format!("{schema}unnest({})", arrays.join(", "))
}

fn list<'n>(names: impl Iterator<Item = &'n str>) -> String {
    names.collect::<Vec<_>>().join(", ")
}

/// A statement that lives as long as the process.
fn made(name: &'static str, sqlite: String, postgres: String, sent: &[Sent]) -> Sql {
    let columns: Vec<Kind> = sent.iter().map(|it| it.kind).collect();
    Sql { name, sqlite: sqlite.leak(), postgres: postgres.leak(), columns: columns.leak() }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct New {
        name: &'static str,
        size: i64,
    }

    static PLACES: Columns<New> = Columns::new(
        "places",
        &[
            Column::number("seq"),
            Column::fixed("state", "0 /* new */"),
            Column::new("name", Kind::Text, |new| new.name.into()),
        ],
    );
    static SIZES: Columns<New> = Columns::new(
        "sizes",
        &[
            Column::new("name", Kind::Text, |new| new.name.into()),
            Column::number("seq"),
            Column::new("size", Kind::Integer, |new| new.size.into()),
        ],
    );
    static BOTH: JointColumns<New> = JointColumns::new("places_seq", [&PLACES, &SIZES]);

    #[test]
    fn the_statement_of_a_table_is_made_of_its_columns() {
        let sql = PLACES.sql();
        assert_eq!(sql.sqlite, "INSERT INTO places (seq, state, name) VALUES (?1, 0 /* new */, ?2)");
        assert_eq!(
            sql.postgres,
            "INSERT INTO places (seq, state, name) SELECT seq, 0 /* new */, name \
             FROM unnest($1::bigint[], $2::text[]) AS v(seq, name)"
        );
        assert_eq!(sql.columns, [Kind::Integer, Kind::Text]);
        let new = [New { name: "a", size: 1 }, New { name: "b", size: 2 }];
        let statement = PLACES.insert((7..).zip(&new));
        let rows: Vec<_> = statement.executions().map(|(_, row)| row.to_vec()).collect();
        assert_eq!(rows, [[Value::from(7i64), "a".into()], [8i64.into(), "b".into()]]);
        assert!(std::ptr::eq(sql.sqlite, PLACES.sql().sqlite), "it is made once");
    }

    static TEXTS: Columns<New> = Columns::new(
        "texts",
        &[Column::long("name", Kind::Text, |new| new.name.into()), Column::number("seq")],
    );

    #[test]
    fn long_columns_are_taken_from_their_array() {
        let sql = TEXTS.sql();
        assert_eq!(sql.sqlite, "INSERT INTO texts (name, seq) VALUES (?1, ?2)");
        assert_eq!(
            sql.postgres,
            "INSERT INTO texts (name, seq) SELECT ($1::text[])[place], seq \
             FROM pg_catalog.unnest($2::bigint[]) WITH ORDINALITY AS v(seq, place)"
        );
        assert_eq!(sql.columns, [Kind::Text, Kind::Integer]);
    }

    #[test]
    fn what_two_tables_have_in_common_is_sent_once() {
        let sql = BOTH.sql();
        assert_eq!(
            sql.postgres,
            "WITH v AS (SELECT * FROM unnest($1::text[], $2::bigint[]) AS v(name, size)), \
             numbered AS MATERIALIZED (SELECT nextval('places_seq') AS seq, v.* FROM v), \
             stored AS (INSERT INTO places (seq, state, name) SELECT seq, 0 /* new */, name FROM numbered) \
             INSERT INTO sizes (name, seq, size) SELECT name, seq, size FROM numbered RETURNING seq"
        );
        assert_eq!((sql.sqlite, sql.columns), ("", &[Kind::Text, Kind::Integer][..]));
        let statement = BOTH.insert(&[New { name: "a", size: 1 }]);
        assert_eq!(
            *statement.values_on_postgres(),
            [Value::Texts(vec![Some("a".into())]), Value::Integers(vec![Some(1)])]
        );
    }
}
