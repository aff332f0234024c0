//! Columns of a Parquet file, copied into another value by value with their levels, so that every type is preserved, even nested ones.

use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::DataType;
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::KeyValue;
use parquet::file::reader::FileReader;
use parquet::file::writer::SerializedColumnWriter;
use parquet::schema::types::TypePtr;

use super::arrow::extended;
use super::guarded;
use super::pages::BoundedFile;
use crate::cells::Column;
use crate::shared::SharedFile;

/// Their pages are in memory together.
const ROWS_AT_ONCE: usize = 4;

const ARROW_SCHEMA: &str = "ARROW:schema";

/// Copies the columns of rows, in order. Every column must be copied for the same rows.
pub(crate) struct Copier {
    file: BoundedFile,
    columns: Vec<Place>,
}

#[derive(Default)]
struct Place {
    next_group: usize,
    reader: Option<ColumnReader>,
    /// Rows of the current group that were not copied.
    left: usize,
}

impl Copier {
    pub(crate) fn open(file: &SharedFile) -> Result<Self> {
        let file = guarded(|| BoundedFile::open(file))?;
        let count = file.metadata().file_metadata().schema_descr().num_columns();
        Ok(Self { file, columns: (0..count).map(|_| Place::default()).collect() })
    }

    pub(crate) fn fields(&self) -> Vec<TypePtr> {
        self.file.metadata().file_metadata().schema().get_fields().to_vec()
    }

    /// The file's metadata, adapted to a file with these added columns.
    pub(crate) fn notes(&self, added: &[Column]) -> Vec<KeyValue> {
        let metadata = self.file.metadata().file_metadata();
        let fields = metadata.schema().get_fields().len();
        let notes = metadata.key_value_metadata().into_iter().flatten().cloned();
        let kept = notes.filter_map(|note| match note.key.as_str() {
            ARROW_SCHEMA => {
                let value = extended(note.value.as_deref()?, fields, added)?;
                Some(KeyValue { value: Some(value), ..note })
            }
            _ => Some(note),
        });
        kept.collect()
    }

    /// The number of the schema's leaves, each of which is a column.
    pub(crate) const fn leaves(&self) -> usize {
        self.columns.len()
    }

    pub(crate) fn copy(
        &mut self,
        leaf: usize,
        writer: &mut SerializedColumnWriter<'_>,
        rows: usize,
    ) -> Result<()> {
        let mut left = rows;
        while left > 0 {
            let place = &mut self.columns[leaf];
            if place.left == 0 {
                if place.next_group == self.file.num_row_groups() {
                    return Err(ParquetError::General("the file has fewer rows than it had".to_owned()));
                }
                let group = self.file.get_row_group(place.next_group)?;
                place.left = usize::try_from(group.metadata().num_rows()).unwrap_or(0);
                place.reader = Some(group.get_column_reader(leaf)?);
                place.next_group += 1;
                continue;
            }
            let wanted = left.min(place.left).min(ROWS_AT_ONCE);
            let Some(reader) = &mut place.reader else { continue };
            let copied = guarded(|| copy_some(reader, writer, wanted))?;
            if copied == 0 {
                return Err(ParquetError::General(format!("column {leaf} has fewer values than rows")));
            }
            place.left -= copied;
            left -= copied;
        }
        Ok(())
    }
}

fn copy_some(
    reader: &mut ColumnReader,
    writer: &mut SerializedColumnWriter<'_>,
    rows: usize,
) -> Result<usize> {
    match reader {
        ColumnReader::BoolColumnReader(reader) => copy_typed(reader, writer, rows),
        ColumnReader::Int32ColumnReader(reader) => copy_typed(reader, writer, rows),
        ColumnReader::Int64ColumnReader(reader) => copy_typed(reader, writer, rows),
        ColumnReader::Int96ColumnReader(reader) => copy_typed(reader, writer, rows),
        ColumnReader::FloatColumnReader(reader) => copy_typed(reader, writer, rows),
        ColumnReader::DoubleColumnReader(reader) => copy_typed(reader, writer, rows),
        ColumnReader::ByteArrayColumnReader(reader) => copy_typed(reader, writer, rows),
        ColumnReader::FixedLenByteArrayColumnReader(reader) => copy_typed(reader, writer, rows),
    }
}

fn copy_typed<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    writer: &mut SerializedColumnWriter<'_>,
    rows: usize,
) -> Result<usize> {
    let (mut values, mut definitions, mut repetitions) = (Vec::new(), Vec::new(), Vec::new());
    let (records, _, _) =
        reader.read_records(rows, Some(&mut definitions), Some(&mut repetitions), &mut values)?;
    // A column without levels needs none.
    let [definitions, repetitions] =
        [&definitions, &repetitions].map(|levels: &Vec<i16>| (!levels.is_empty()).then_some(&levels[..]));
    writer.typed::<T>().write_batch(&values, definitions, repetitions)?;
    Ok(records)
}
