//! The statements that move a table, made of its columns once.

use std::sync::LazyLock;

use crate::database::{Kind, Sql, unnest};
use crate::operations::transfer::tables::{Column, TABLES, Table};

pub(crate) struct TableStatements {
    /// Reads a row, if there is any.
    pub(crate) any: &'static str,
    /// Reads the next rows after a key.
    pub(crate) page: &'static str,
    /// Counts how many of the next rows after a key are within a number of bytes; `None` if every row is small.
    pub(crate) fitting: Option<&'static str>,
    pub(crate) insert: Sql,
    /// Sets PostgreSQL's sequence beyond the highest row number, if it draws them.
    pub(crate) renumber: Option<&'static str>,
}

/// In the order of [`TABLES`].
static STATEMENTS: LazyLock<Vec<TableStatements>> =
    LazyLock::new(|| TABLES.iter().map(Table::make_statements).collect());

impl Table {
    pub(super) fn statements(&'static self) -> &'static TableStatements {
        let place = TABLES.iter().position(|table| std::ptr::eq(table, self)).unwrap_or(0);
        &STATEMENTS[place]
    }

    fn make_statements(&self) -> TableStatements {
        let Self { name, key, columns, only, weight, is_numbered, added: _ } = self;
        let key = key.join(", ");
        let places = vec!["?"; self.key.len()].join(", ");
        let list = |part: fn(&Column) -> String| columns.iter().map(part).collect::<Vec<_>>().join(", ");
        let names = list(|column| column.name.to_owned());
        let reads = list(|column| match column.read {
            read if read == column.name => read.to_owned(),
            read => format!("{read} AS {}", column.name),
        });
        let only = only.map(|only| format!(" AND {only}")).unwrap_or_default();
        let fitting = weight.map(|weight| {
            format!(
                "SELECT count(*) AS count FROM (SELECT sum(weight) OVER (ORDER BY {key}) AS bytes FROM (
                     SELECT {key}, {weight} AS weight FROM {name} WHERE ({key}) > ({places}) ORDER BY {key} LIMIT ?
                 ) r) s WHERE bytes <= ?"
            )
        });
        let renumber = is_numbered.then(|| {
            format!(
                "SELECT setval(pg_get_serial_sequence('{name}', 'seq'), greatest(coalesce(max(t.seq), 0),
                     (SELECT coalesce(max(d.seq), 0) FROM last_deleted d WHERE d.table_name = '{name}')) + 1, false)
                 FROM {name} t"
            )
        });
        TableStatements {
            any: kept(format!("SELECT 1 FROM {name} LIMIT 1")),
            page: kept(format!(
                "SELECT {reads} FROM {name} WHERE ({key}) > ({places}){only} ORDER BY {key} LIMIT ?"
            )),
            fitting: fitting.map(kept),
            insert: insert(name, &names, columns.iter().map(|column| column.form.kind()).collect()),
            renumber: renumber.map(kept),
        }
    }
}

fn insert(name: &str, names: &str, kinds: Vec<Kind>) -> Sql {
    let places: Vec<String> = (1..=kinds.len()).map(|place| format!("?{place}")).collect();
    let array = |(place, kind): (usize, &Kind)| format!("${}::{}[]", place + 1, kind.on_postgres());
    let arrays: Vec<String> = kinds.iter().enumerate().map(array).collect();
    Sql {
        name: "IMPORT",
        sqlite: kept(format!("INSERT INTO {name} ({names}) VALUES ({})", places.join(", "))),
        postgres: kept(format!("INSERT INTO {name} ({names}) SELECT * FROM {}", unnest(&arrays))),
        columns: Box::leak(kinds.into()),
    }
}

/// Made once, and kept until the process ends.
fn kept(text: String) -> &'static str {
    Box::leak(text.into())
}
