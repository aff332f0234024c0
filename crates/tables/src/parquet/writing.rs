//! A Parquet file of another file's columns, if there is one, and further columns. Rows wait until a group is complete.

use std::io::{self, Write};
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::Result;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::{Type, TypePtr};
use serde_json::Value;

use super::copying::Copier;
use super::io_error;
use crate::cells::{Column, ColumnType, text_of};
use crate::shared::SharedFile;

/// A group is written when it has so many rows, or so many bytes.
const GROUP_ROWS_MAX: usize = 50_000;
const GROUP_BYTES_MAX: usize = 32 << 20;

/// Counted for each cell beside its text.
const CELL_BYTES: usize = 32;

/// A row's added cells, in the order of their columns.
pub(crate) type Own = Vec<Value>;

pub(crate) struct GroupedWriter<W: Write + Send> {
    file: SerializedFileWriter<W>,
    copier: Option<Copier>,
    columns: Vec<Column>,
    waiting: Vec<Own>,
    bytes: usize,
}

impl<W: Write + Send> GroupedWriter<W> {
    /// Begins a file with all columns of `source`, if there is one, followed by these.
    pub(crate) fn new(out: W, source: Option<&SharedFile>, columns: Vec<Column>) -> io::Result<Self> {
        let copier = source.map(Copier::open).transpose().map_err(io_error)?;
        let file = begin(out, copier.as_ref(), &columns).map_err(io_error)?;
        Ok(Self { file, copier, columns, waiting: Vec::new(), bytes: 0 })
    }

    /// Adds the next row of the source, with these cells.
    pub(crate) fn push(&mut self, own: Own) -> io::Result<()> {
        let weight = |cell: &Value| CELL_BYTES + cell.as_str().map_or(0, str::len);
        self.bytes += own.iter().map(weight).sum::<usize>();
        self.waiting.push(own);
        if self.waiting.len() >= GROUP_ROWS_MAX || self.bytes >= GROUP_BYTES_MAX {
            self.write_group().map_err(io_error)?;
        }
        Ok(())
    }

    /// Ends the file, and returns its output.
    pub(crate) fn finish(mut self) -> io::Result<W> {
        if !self.waiting.is_empty() {
            self.write_group().map_err(io_error)?;
        }
        self.file.into_inner().map_err(io_error)
    }

    fn write_group(&mut self) -> Result<()> {
        let mut group = self.file.next_row_group()?;
        if let Some(copier) = &mut self.copier {
            for leaf in 0..copier.leaves() {
                let Some(mut writer) = group.next_column()? else { break };
                copier.copy(leaf, &mut writer, self.waiting.len())?;
                writer.close()?;
            }
        }
        for (place, column) in self.columns.iter().enumerate() {
            let Some(mut writer) = group.next_column()? else { break };
            let cells = self.waiting.iter().map(|row| row.get(place).unwrap_or(&Value::Null));
            write_column(&mut writer, column.holds, cells)?;
            writer.close()?;
        }
        group.close()?;
        self.waiting.clear();
        self.bytes = 0;
        Ok(())
    }
}

fn begin<W: Write + Send>(
    out: W,
    copier: Option<&Copier>,
    columns: &[Column],
) -> Result<SerializedFileWriter<W>> {
    let mut fields = copier.map_or_else(Vec::new, Copier::fields);
    for column in columns {
        fields.push(type_of(column)?);
    }
    let schema = Type::group_type_builder("schema").with_fields(fields).build()?;
    let notes = copier.map(|copier| copier.notes(columns)).filter(|notes| !notes.is_empty());
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_key_value_metadata(notes)
        .build();
    SerializedFileWriter::new(out, Arc::new(schema), Arc::new(properties))
}

fn type_of(column: &Column) -> Result<TypePtr> {
    let (physical, logical) = match column.holds {
        Some(ColumnType::Boolean) => (Physical::BOOLEAN, None),
        Some(ColumnType::Integer) => (Physical::INT64, None),
        Some(ColumnType::Number) => (Physical::DOUBLE, None),
        Some(ColumnType::Text | ColumnType::Json) | None => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
    };
    let built = Type::primitive_type_builder(&column.name, physical)
        .with_repetition(Repetition::OPTIONAL)
        .with_logical_type(logical)
        .build()?;
    Ok(Arc::new(built))
}

/// Writes cells; a cell of another type than the column's becomes null.
fn write_column<'a>(
    writer: &mut SerializedColumnWriter<'_>,
    holds: Option<ColumnType>,
    cells: impl Iterator<Item = &'a Value>,
) -> Result<()> {
    match holds {
        Some(ColumnType::Boolean) => write_typed::<BoolType>(writer, cells.map(Value::as_bool)),
        Some(ColumnType::Integer) => write_typed::<Int64Type>(writer, cells.map(Value::as_i64)),
        Some(ColumnType::Number) => write_typed::<DoubleType>(writer, cells.map(Value::as_f64)),
        Some(ColumnType::Text | ColumnType::Json) | None => {
            let texts =
                cells.map(|cell| (!cell.is_null()).then(|| ByteArray::from(text_of(cell).into_bytes())));
            write_typed::<ByteArrayType>(writer, texts)
        }
    }
}

fn write_typed<T: DataType>(
    writer: &mut SerializedColumnWriter<'_>,
    cells: impl Iterator<Item = Option<T::T>>,
) -> Result<()> {
    let (mut values, mut levels) = (Vec::new(), Vec::new());
    for cell in cells {
        levels.push(i16::from(cell.is_some()));
        values.extend(cell);
    }
    writer.typed::<T>().write_batch(&values, Some(&levels), None)?;
    Ok(())
}
