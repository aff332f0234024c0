//! Rows of a Parquet file.

use std::sync::Arc;

use parquet::basic::{Compression, ConvertedType};
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::metadata::ParquetMetaData;
use parquet::file::reader::FileReader;
use parquet::record::Row as Fields;
use parquet::record::reader::RowIter;
use serde_json::Value;

use super::fields::{Shape, value_of};
use super::pages::{BoundedFile, Excess};
use super::texts::Texts;
use super::{guarded, io_error};
use crate::cells::Columns;
use crate::row::{ROW_BYTES_MAX, Row, RowFault};
use crate::shared::SharedFile;

pub(crate) struct ParquetRows {
    file: BoundedFile,
    rows: RowIter<'static>,
    texts: Vec<Texts>,
    names: Vec<Arc<str>>,
    shapes: Vec<Shape>,
    number: u64,
}

impl ParquetRows {
    pub(crate) fn open(file: &SharedFile) -> Result<Self, RowFault> {
        let reader =
            guarded(|| BoundedFile::open(file)).map_err(|error| RowFault::Unreadable(io_error(error)))?;
        check(reader.metadata()).map_err(|words| RowFault::Unreadable(std::io::Error::other(words)))?;
        let fields = reader.metadata().file_metadata().schema().get_fields();
        let names: Vec<Arc<str>> = fields.iter().map(|field| Arc::from(field.name())).collect();
        Columns::named(names.iter().cloned())
            .map_err(|words| RowFault::Unreadable(std::io::Error::other(words)))?;
        let shapes = fields.iter().map(|field| Shape::of(field)).collect();
        let texts = Texts::of(&reader);
        // Rows that are read together are in memory together.
        let rows = RowIter::from_file_into(Box::new(reader.clone())).with_batch_size(1);
        Ok(Self { file: reader, rows, texts, names, shapes, number: 0 })
    }

    pub(crate) fn names(&self) -> &[Arc<str>] {
        &self.names
    }

    pub(crate) fn next(&mut self) -> Option<Result<Row, RowFault>> {
        let next = guarded(|| self.read()).and_then(|row| row.map(|row| self.row(row)).transpose());
        match next {
            Ok(row) => row.map(Ok),
            Err(error) => {
                // A column's page may be read before the row of its fault.
                let (row, words) = match error {
                    ParquetError::External(error) if error.is::<Excess>() => {
                        error.downcast::<Excess>().map_or((0, String::new()), |it| (it.row, it.words))
                    }
                    error => (self.number + 1, format!("cannot be read: {}", io_error(error))),
                };
                Some(Err(RowFault::Broken(row, words)))
            }
        }
    }

    /// The next row, if its lists are short enough.
    fn read(&mut self) -> ParquetResult<Option<Fields>> {
        let mut bytes = 0;
        for texts in &mut self.texts {
            bytes += texts.next(&self.file)?;
            check_length(bytes, self.number + 1, &texts.column)?;
        }
        self.rows.next().transpose()
    }

    fn row(&mut self, row: Fields) -> ParquetResult<Row> {
        self.number += 1;
        let values = row.into_columns().into_iter().zip(&self.shapes);
        let values = values.map(|((_, field), shape)| value_of(field, shape));
        let cells: Vec<(Arc<str>, Value)> = self.names.iter().cloned().zip(values).collect();
        let mut bytes = 0;
        for (name, value) in &cells {
            bytes += value.as_str().map_or(0, str::len);
            check_length(bytes, self.number, name)?;
        }
        Ok(Row { line: self.number, cells, text: None })
    }
}

fn check_length(bytes: usize, row: u64, column: &str) -> ParquetResult<()> {
    if bytes <= ROW_BYTES_MAX {
        return Ok(());
    }
    let words =
        format!("is a row of more than {ROW_BYTES_MAX} bytes, the last of them in the column {column:?}");
    Err(ParquetError::External(Box::new(Excess { row, words })))
}

/// Refuses files whose rows cannot be read.
fn check(metadata: &ParquetMetaData) -> Result<(), String> {
    for column in metadata.file_metadata().schema_descr().columns() {
        if column.converted_type() == ConvertedType::INTERVAL {
            return Err(format!(
                "the column {:?} holds intervals, which are not read",
                column.path().string()
            ));
        }
    }
    for column in metadata.row_groups().iter().flat_map(|group| group.columns()) {
        let name = match column.compression() {
            Compression::UNCOMPRESSED | Compression::SNAPPY | Compression::GZIP(_) | Compression::ZSTD(_) => {
                continue;
            }
            Compression::BROTLI(_) => "Brotli",
            Compression::LZ4 | Compression::LZ4_RAW => "LZ4",
            Compression::LZO => "LZO",
        };
        return Err(format!(
            "the column {:?} is compressed with {name}, which is not read; Zstandard, gzip and Snappy are",
            column.column_path().string()
        ));
    }
    Ok(())
}
