//! The bytes of texts in lists, added up before a row is made: a dictionary may hold one long text, and a list refer to it a million times.

use parquet::basic::Type;
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{AsBytes, DataType};
use parquet::errors::Result;
use parquet::file::reader::FileReader;

use super::levels::broken;
use super::pages::BoundedFile;

/// The texts of one column, row by row.
pub(super) struct Texts {
    leaf: usize,
    pub(super) column: String,
    next_group: usize,
    /// Rows of the current group that were not read.
    left: i64,
    reader: Option<ColumnReader>,
}

impl Texts {
    /// The columns of texts in lists.
    pub(super) fn of(file: &BoundedFile) -> Vec<Self> {
        let columns = file.metadata().file_metadata().schema_descr().columns().iter().enumerate();
        let in_lists = columns.filter(|(_, column)| {
            let is_text = matches!(column.physical_type(), Type::BYTE_ARRAY | Type::FIXED_LEN_BYTE_ARRAY);
            is_text && column.max_rep_level() > 0
        });
        let begun = |(leaf, column): (usize, &parquet::schema::types::ColumnDescPtr)| Self {
            leaf,
            column: column.path().string(),
            next_group: 0,
            left: 0,
            reader: None,
        };
        in_lists.map(begun).collect()
    }

    /// The bytes of the next row; 0 behind the last one.
    pub(super) fn next(&mut self, file: &BoundedFile) -> Result<usize> {
        while self.left == 0 {
            if self.next_group == file.num_row_groups() {
                return Ok(0);
            }
            self.reader = None;
            let group = file.get_row_group(self.next_group)?;
            self.left = group.metadata().num_rows().max(0);
            self.reader = Some(group.get_column_reader(self.leaf)?);
            self.next_group += 1;
        }
        self.left -= 1;
        match &mut self.reader {
            Some(ColumnReader::ByteArrayColumnReader(reader)) => bytes(reader),
            Some(ColumnReader::FixedLenByteArrayColumnReader(reader)) => bytes(reader),
            _ => Err(broken()),
        }
    }
}

fn bytes<T: DataType>(reader: &mut ColumnReaderImpl<T>) -> Result<usize> {
    let (mut values, mut definitions, mut repetitions) = (Vec::new(), Vec::new(), Vec::new());
    reader.read_records(1, Some(&mut definitions), Some(&mut repetitions), &mut values)?;
    Ok(values.iter().map(|value| value.as_bytes().len()).sum())
}
