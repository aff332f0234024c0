//! From the store into the file.

use std::io::{self, Write};

use futures_util::future::BoxFuture;
use sha2::{Digest, Sha256};

use crate::database::migrations;
use crate::database::{Connection, Row, Statement, Value, sql};
use crate::operations::transfer::counts::Counts;
use crate::operations::transfer::errors::ExportError;
use crate::operations::transfer::format::{FORMAT, Header, Trailer, VERSION, write_row};
use crate::operations::transfer::lines::hex;
use crate::operations::transfer::tables::{Column, Form, TABLES, Table};
use crate::operations::transfer::{BYTES_MAX, ROWS_MAX};
use crate::{Store, StoreError};

/// Writes all data as of one moment, while the service continues; returns numbers of rows. Leased requests are written as waiting, so that
/// the file is self-contained. After an error the file is incomplete.
pub fn export<'a>(
    store: &'a Store,
    out: &'a mut (dyn Write + Send),
) -> BoxFuture<'a, Result<Counts, ExportError>> {
    // Boxed, so that it is compiled once here, not in each program.
    Box::pin(async move {
        // Encrypted values stay encrypted in the file.
        let mut reader = store.database().as_stored().connect_reader().await?;
        reader.begin_snapshot().await?;
        let counts = Exporter { connection: &mut reader, out, digest: Sha256::new() }.run().await?;
        reader.execute_all("ROLLBACK").await?;
        reader.close().await?;
        Ok(counts)
    })
}

struct Exporter<'a> {
    connection: &'a mut Connection,
    out: &'a mut (dyn Write + Send),
    digest: Sha256,
}

impl Exporter<'_> {
    async fn run(mut self) -> Result<Counts, ExportError> {
        let schema = migrations::version(self.connection).await?;
        // Another program may have changed the schema since the store was opened.
        migrations::OURS.check(schema)?;
        let header = Header { format: FORMAT.into(), version: VERSION, schema };
        self.write(&line_of(&header)?)?;
        let mut counts = Counts::none();
        for table in &TABLES {
            counts.add(table.name, self.write_table(table).await?);
        }
        let trailer = Trailer { rows: counts, sha256: hex(&self.digest.finalize()) };
        self.out.write_all(&line_of(&trailer)?)?;
        Ok(trailer.rows)
    }

    async fn write_table(&mut self, table: &'static Table) -> Result<usize, ExportError> {
        let (mut behind, mut line, mut count) = (table.before_all(), Vec::new(), 0);
        loop {
            let limit = self.fitting(table, &behind).await?;
            let rows = self.connection.fetch(bind(table.statements().page, &behind).bind(limit)).await?;
            let Some(last) = rows.last() else { return Ok(count) };
            behind = table.key_of(last)?;
            for row in &rows {
                line.clear();
                write_row(table, row, &mut line)?;
                self.write(&line)?;
            }
            count += rows.len();
        }
    }

    /// How many of the next rows fit together; at least one.
    async fn fitting(&mut self, table: &'static Table, behind: &[Value]) -> Result<i64, StoreError> {
        let Some(text) = table.statements().fitting else { return Ok(ROWS_MAX as i64) };
        let fitting = bind(text, behind).bind(ROWS_MAX as i64).bind(BYTES_MAX as i64);
        Ok(self.connection.fetch_one(fitting).await?.get::<i64>("count")?.max(1))
    }

    fn write(&mut self, line: &[u8]) -> io::Result<()> {
        self.digest.update(line);
        self.out.write_all(line)
    }
}

impl Table {
    /// Precedes every row's.
    fn before_all(&self) -> Vec<Value> {
        let lowest = |column: &Column| match column.form {
            Form::Integer | Form::Within(..) | Form::Gathering => i64::MIN.into(),
            Form::Text => "".into(),
            Form::Bytes | Form::Exactly(_) | Form::Each(_) | Form::Json => Vec::<u8>::new().into(),
        };
        self.key_columns().map(lowest).collect()
    }

    fn key_of(&self, row: &Row) -> Result<Vec<Value>, StoreError> {
        let read = |column: &Column| {
            Ok(match column.form {
                Form::Integer | Form::Within(..) | Form::Gathering => row.get::<i64>(column.name)?.into(),
                Form::Text => row.get::<&str>(column.name)?.into(),
                Form::Bytes | Form::Exactly(_) | Form::Each(_) | Form::Json => {
                    row.get::<&[u8]>(column.name)?.into()
                }
            })
        };
        self.key_columns().map(read).collect()
    }

    fn key_columns(&self) -> impl Iterator<Item = &Column> {
        self.key.iter().filter_map(|name| self.columns.iter().find(|column| column.name == *name))
    }
}

fn bind(text: &'static str, values: &[Value]) -> Statement {
    values.iter().cloned().fold(sql(text), Statement::bind)
}

fn line_of(part: &impl serde::Serialize) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(part)?;
    line.push(b'\n');
    Ok(line)
}
