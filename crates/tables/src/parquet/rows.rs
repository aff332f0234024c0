//! Rows of a Parquet file.

use std::sync::Arc;

use parquet::basic::{Compression, ConvertedType};
use parquet::file::metadata::ParquetMetaData;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::reader::RowIter;

use super::fields::{Shape, value_of};
use super::{guarded, io_error};
use crate::cells::Columns;
use crate::row::{Row, RowFault};
use crate::shared::SharedFile;

pub(crate) struct ParquetRows {
    rows: RowIter<'static>,
    names: Vec<Arc<str>>,
    shapes: Vec<Shape>,
    number: u64,
}

impl ParquetRows {
    pub(crate) fn open(file: &SharedFile) -> Result<Self, RowFault> {
        let reader = guarded(|| SerializedFileReader::new(file.clone()))
            .map_err(|error| RowFault::Unreadable(io_error(error)))?;
        check(reader.metadata()).map_err(|words| RowFault::Unreadable(std::io::Error::other(words)))?;
        let fields = reader.metadata().file_metadata().schema().get_fields();
        let names: Vec<Arc<str>> = fields.iter().map(|field| Arc::from(field.name())).collect();
        Columns::named(names.iter().cloned())
            .map_err(|words| RowFault::Unreadable(std::io::Error::other(words)))?;
        let shapes = fields.iter().map(|field| Shape::of(field)).collect();
        Ok(Self { rows: RowIter::from_file_into(Box::new(reader)), names, shapes, number: 0 })
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
        let values = row.into_columns().into_iter().zip(&self.shapes);
        let values = values.map(|((_, field), shape)| value_of(field, shape));
        let cells = self.names.iter().cloned().zip(values).collect();
        Some(Ok(Row { line: self.number, cells, text: None }))
    }
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
