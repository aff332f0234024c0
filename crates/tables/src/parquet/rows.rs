//! Rows of a Parquet file.

use std::sync::Arc;

use parquet::basic::{ConvertedType, LogicalType, TimeUnit};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::reader::RowIter;
use parquet::schema::types::{SchemaDescriptor, Type};

use super::fields::{nanoseconds, value_of};
use super::{guarded, io_error};
use crate::cells::Columns;
use crate::row::{Row, RowFault};
use crate::shared::SharedFile;

/// Reads rows.
pub(crate) struct ParquetRows {
    rows: RowIter<'static>,
    names: Vec<Arc<str>>,
    /// Of each column, whether it holds nanoseconds since 1970, which are read as bare numbers.
    are_nanoseconds: Vec<bool>,
    number: u64,
}

impl ParquetRows {
    pub(crate) fn open(file: &SharedFile) -> Result<Self, RowFault> {
        let reader = guarded(|| SerializedFileReader::new(file.clone()))
            .map_err(|error| RowFault::Unreadable(io_error(error)))?;
        let schema = reader.metadata().file_metadata().schema_descr_ptr();
        check(&schema).map_err(|words| RowFault::Unreadable(std::io::Error::other(words)))?;
        let fields = schema.root_schema().get_fields();
        let names: Vec<Arc<str>> = fields.iter().map(|field| Arc::from(field.name())).collect();
        Columns::named(names.iter().cloned())
            .map_err(|words| RowFault::Unreadable(std::io::Error::other(words)))?;
        let are_nanoseconds = fields.iter().map(|field| holds_nanoseconds(field)).collect();
        Ok(Self { rows: RowIter::from_file_into(Box::new(reader)), names, are_nanoseconds, number: 0 })
    }

    pub(crate) fn names(&self) -> &[Arc<str>] {
        &self.names
    }

    pub(crate) fn next(&mut self) -> Option<Result<Row, RowFault>> {
        let row = match guarded(|| self.rows.next().transpose()) {
            Ok(row) => row?,
            Err(error) => {
                let words = format!("cannot be read: {}", io_error(error));
                return Some(Err(RowFault::Broken(self.number + 1, words)));
            }
        };
        self.number += 1;
        let values = row.into_columns().into_iter().zip(&self.are_nanoseconds);
        let values =
            values.map(|((_, field), is_ns)| if *is_ns { nanoseconds(field) } else { value_of(field) });
        let cells = self.names.iter().cloned().zip(values).collect();
        Some(Ok(Row { line: self.number, cells, text: None }))
    }
}

/// Refuses what rows cannot be made of.
fn check(schema: &SchemaDescriptor) -> Result<(), String> {
    for column in schema.columns() {
        if column.converted_type() == ConvertedType::INTERVAL {
            return Err(format!(
                "the column {:?} holds intervals, which are not read",
                column.path().string()
            ));
        }
    }
    Ok(())
}

fn holds_nanoseconds(field: &Type) -> bool {
    let nanos = |logical: &LogicalType| matches!(logical, LogicalType::Timestamp(time) if time.unit == TimeUnit::NANOS);
    field.is_primitive() && field.get_basic_info().logical_type_ref().is_some_and(nanos)
}
