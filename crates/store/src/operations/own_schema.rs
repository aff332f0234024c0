//! Compares the schema of a SQLite database with the schema that the migrations create. Added triggers and views would run with the
//! statements of the service.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::OnceLock;

use crate::StoreError;
use crate::database::migrations::{APPLICATION_ID, OURS};
use crate::database::{Connection, Dialect, Row, statements};

statements! {
    /// SQLite reserves names that begin with `sqlite_`, so a view of the database cannot replace this table.
    OBJECTS = { sqlite: "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name" };
    APPLICATION = { sqlite: "PRAGMA application_id" };
}

/// SQLite adds this table when an operator runs ANALYZE.
const STATISTICS: [&str; 4] =
    ["table", "sqlite_stat1", "sqlite_stat1", "CREATE TABLE sqlite_stat1(tbl,idx,stat)"];

/// A row of `sqlite_schema`; ordered as SQLite orders them.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Object {
    kind: String,
    name: String,
    table: String,
    /// `None` for the index of a key.
    definition: Option<String>,
}

/// Compares with schema `number`; fails with [`StoreError::OtherSchema`] and the first object that differs. Runs no view or trigger of the
/// database. Does not compare on PostgreSQL.
pub(crate) async fn check_in(connection: &mut Connection, number: i64) -> Result<(), StoreError> {
    if connection.dialect() == Dialect::Postgres {
        return Ok(());
    }
    let rows = connection.fetch(OBJECTS.unbound()).await?;
    let found = rows.iter().map(Object::read).collect::<Result<Vec<_>, _>>()?;
    let wanted = wanted(number)?;
    if let Some(difference) = difference(&found, &wanted) {
        return Err(StoreError::OtherSchema(difference));
    }
    let application: i64 = connection.fetch_one(APPLICATION.unbound()).await?.get("application_id")?;
    match application == APPLICATION_ID || found.is_empty() {
        true => Ok(()),
        false => Err(StoreError::OtherSchema(format!("its application_id is {application}"))),
    }
}

fn wanted(number: i64) -> Result<Cow<'static, [Object]>, StoreError> {
    static OF_NEWEST: OnceLock<Vec<Object>> = OnceLock::new();
    match OF_NEWEST.get() {
        _ if number != OURS.newest() => made(number).map(Cow::Owned),
        Some(objects) => Ok(Cow::Borrowed(objects)),
        None => made(number).map(|objects| Cow::Borrowed(&**OF_NEWEST.get_or_init(|| objects))),
    }
}

fn made(number: i64) -> Result<Vec<Object>, StoreError> {
    let database = OURS.in_memory(number)?;
    let mut query = database.prepare(OBJECTS.sqlite)?;
    let read = |row: &rusqlite::Row<'_>| {
        Ok(Object { kind: row.get(0)?, name: row.get(1)?, table: row.get(2)?, definition: row.get(3)? })
    };
    let objects = query.query_map([], read)?.collect::<Result<_, _>>()?;
    Ok(objects)
}

fn difference(found: &[Object], wanted: &[Object]) -> Option<String> {
    let mut missing: BTreeMap<_, _> = wanted.iter().map(|object| (object.key(), object)).collect();
    for object in found.iter().filter(|object| !object.is_statistics()) {
        match missing.remove(&object.key()) {
            Some(own) if own == object => {}
            Some(_) => return Some(format!("{} has another definition", object.told())),
            None => return Some(format!("{} is not part of it", object.told())),
        }
    }
    missing.values().next().map(|object| format!("{} is missing", object.told()))
}

impl Object {
    fn read(row: &Row) -> Result<Self, StoreError> {
        Ok(Self {
            kind: row.get("type")?,
            name: row.get("name")?,
            table: row.get("tbl_name")?,
            definition: row.get("sql")?,
        })
    }

    fn key(&self) -> (&str, &str) {
        (&self.kind, &self.name)
    }

    fn is_statistics(&self) -> bool {
        [&*self.kind, &*self.name, &*self.table, self.definition.as_deref().unwrap_or_default()] == STATISTICS
    }

    /// With escapes: another program may have chosen the name.
    fn told(&self) -> String {
        format!("the {} {:?}", self.kind.escape_debug(), self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DATABASE_FILE;
    use crate::tests::Fixture;

    /// The error of a database with these changes.
    async fn told_of(change: &str) -> Option<String> {
        let fixture = Fixture::on_sqlite().await;
        let path = fixture.folder().join(DATABASE_FILE);
        let database = rusqlite::Connection::open(path).expect("a database");
        database.execute_batch(change).expect("a change");
        drop(database);
        let mut connection = fixture.store.connect().await.expect("a connection");
        let outcome = check_in(&mut connection, OURS.newest()).await;
        match outcome {
            Ok(()) => None,
            Err(StoreError::OtherSchema(what)) => Some(what),
            Err(other) => panic!("{other}"),
        }
    }

    #[tokio::test]
    async fn first_object_that_differs_from_the_migrations_is_named() {
        assert_eq!(told_of("ANALYZE").await, None);
        for (change, told) in [
            (
                "CREATE TRIGGER gift AFTER INSERT ON requests BEGIN UPDATE accounts SET balance = 1; END",
                "the trigger \"gift\" is not part of it",
            ),
            ("CREATE TABLE \"a\u{1b}[31m\" (text)", "the table \"a\\u{1b}[31m\" is not part of it"),
            ("CREATE INDEX quick ON requests (model)", "the index \"quick\" is not part of it"),
            ("DROP INDEX batches_live", "the index \"batches_live\" is missing"),
            ("ALTER TABLE models ADD COLUMN more", "the table \"models\" has another definition"),
            (
                "DROP VIEW overnight_nodes; CREATE VIEW overnight_nodes AS SELECT 1",
                "the view \"overnight_nodes\" has another definition",
            ),
            (
                "DROP TABLE attempts; CREATE VIEW attempts AS SELECT 1",
                "the view \"attempts\" is not part of it",
            ),
            (
                "CREATE VIEW pragma_user_version AS SELECT 1 AS user_version",
                "the view \"pragma_user_version\" is not part of it",
            ),
            ("PRAGMA application_id = 5", "its application_id is 5"),
        ] {
            let found = told_of(change).await;
            assert!(found.as_deref() == Some(told), "{change}: {found:?}");
        }
    }
}
