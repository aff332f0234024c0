//! The pages of a Parquet file within bounds. A small file may claim gigabytes: a page that decompresses to them, a dictionary or a row of
//! a billion values in a few bytes. Pages are therefore decompressed here, against a budget, and values are counted before any is made.

use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use flate2::bufread::MultiGzDecoder;
use parquet::basic::{Compression, Encoding, Type};
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::data_type::ByteArray;
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::{ParquetMetaData, ParquetMetaDataReader, RowGroupMetaData};
use parquet::file::reader::{FileReader, RowGroupReader};
use parquet::file::serialized_reader::SerializedPageReader;
use parquet::record::reader::RowIter;
use parquet::schema::types::{ColumnDescPtr, Type as SchemaType};
use thiserror::Error;

use super::levels::{RowValues, broken, check_lengths, take};
use crate::shared::SharedFile;

/// The memory of a row in all columns: the current pages, dictionaries and values of lists.
pub(super) const MEMORY_BYTES_MAX: usize = 512 << 20;

/// The values of one row in one column: the elements of its lists, and of lists in them.
pub(super) const CELL_VALUES_MAX: usize = 1 << 20;

/// A value of a list, as read and as JSON, without its text.
const VALUE_BYTES: usize = 256;

/// The memory of `--long=27`, as in compressed text.
const ZSTD_WINDOW_LOG_MAX: u32 = 27;

/// A limit of a row; `Display` continues after the row.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{words}")]
pub(super) struct Excess {
    /// From 1.
    pub(super) row: u64,
    pub(super) words: String,
}

/// A file whose pages are bounded. Clones share their bound.
#[derive(Clone)]
pub(super) struct BoundedFile {
    file: Arc<SharedFile>,
    metadata: Arc<ParquetMetaData>,
    budget: Budget,
}

impl BoundedFile {
    pub(super) fn open(file: &SharedFile) -> Result<Self> {
        let metadata = ParquetMetaDataReader::new().parse_and_finish(file)?;
        Ok(Self { file: Arc::new(file.clone()), metadata: Arc::new(metadata), budget: Budget::default() })
    }
}

#[cfg(test)]
impl BoundedFile {
    /// Takes memory, until the share is dropped.
    pub(super) fn take(&self, bytes: usize) -> Option<impl Drop> {
        self.budget.take(bytes)
    }
}

impl FileReader for BoundedFile {
    fn metadata(&self) -> &ParquetMetaData {
        &self.metadata
    }

    fn num_row_groups(&self) -> usize {
        self.metadata.num_row_groups()
    }

    fn get_row_group(&self, place: usize) -> Result<Box<dyn RowGroupReader + '_>> {
        let groups = self.metadata().row_groups();
        let group = groups.get(place).ok_or_else(broken)?;
        let rows_before = groups[..place].iter().map(|group| u64::try_from(group.num_rows()).unwrap_or(0));
        Ok(Box::new(BoundedGroup { file: self, group, rows_before: rows_before.sum() }))
    }

    fn get_row_iter(&self, projection: Option<SchemaType>) -> Result<RowIter<'_>> {
        RowIter::from_file(projection, self)
    }
}

struct BoundedGroup<'a> {
    file: &'a BoundedFile,
    group: &'a RowGroupMetaData,
    rows_before: u64,
}

impl RowGroupReader for BoundedGroup<'_> {
    fn metadata(&self) -> &RowGroupMetaData {
        self.group
    }

    fn num_columns(&self) -> usize {
        self.group.num_columns()
    }

    fn get_column_page_reader(&self, place: usize) -> Result<Box<dyn PageReader>> {
        let chunk = self.group.columns().get(place).ok_or_else(broken)?;
        let (codec, column) = (chunk.compression(), chunk.column_descr_ptr());
        let as_stored = chunk.clone().into_builder().set_compression(Compression::UNCOMPRESSED).build()?;
        let rows = usize::try_from(self.group.num_rows()).map_err(|_| broken())?;
        let inner = SerializedPageReader::new(Arc::clone(&self.file.file), &as_stored, rows, None)?;
        let rows = RowValues::new(column.max_rep_level(), self.rows_before);
        let budget = self.file.budget.clone();
        Ok(Box::new(Pages { inner, codec, column, rows, budget, dictionary: None, lists: None }))
    }

    fn get_column_bloom_filter(&self, _: usize) -> Option<&parquet::bloom_filter::Sbbf> {
        None
    }

    fn get_row_iter(&self, projection: Option<SchemaType>) -> Result<RowIter<'_>> {
        RowIter::from_row_group(projection, self)
    }
}

/// Memory for pages.
#[derive(Clone, Default)]
struct Budget(Arc<AtomicUsize>);

/// Part of a budget, until it is dropped.
struct Share {
    budget: Budget,
    bytes: usize,
}

/// A page, whose memory is free when no value of it is left.
struct Held {
    bytes: Vec<u8>,
    _share: Share,
}

impl Budget {
    fn left(&self) -> usize {
        MEMORY_BYTES_MAX.saturating_sub(self.0.load(Ordering::Relaxed))
    }

    fn take(&self, bytes: usize) -> Option<Share> {
        if bytes > self.left() {
            return None;
        }
        self.0.fetch_add(bytes, Ordering::Relaxed);
        Some(Share { budget: self.clone(), bytes })
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.budget.0.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// The pages of a column in a row group.
struct Pages {
    /// Reads pages as they are stored.
    inner: SerializedPageReader<SharedFile>,
    codec: Compression,
    column: ColumnDescPtr,
    rows: RowValues,
    budget: Budget,
    dictionary: Option<Share>,
    /// For the longest row of the current page.
    lists: Option<Share>,
}

impl Pages {
    fn excess(&self, row: u64, words: &str) -> ParquetError {
        let words = format!("{words} in the column {:?}", self.column.path().string());
        ParquetError::External(Box::new(Excess { row, words }))
    }

    fn too_large(&self) -> ParquetError {
        let words = format!("needs more than {MEMORY_BYTES_MAX} bytes of memory, the last of them");
        self.excess(self.rows.row + 1, &words)
    }

    /// Decompresses what follows `plain` bytes.
    fn decompressed(&self, stored: &Bytes, plain: usize, is_compressed: bool) -> Result<Bytes> {
        let (head, tail) = stored.split_at_checked(plain).ok_or_else(broken)?;
        let left = self.budget.left().saturating_sub(plain);
        let mut bytes = head.to_vec();
        let codec = if is_compressed && !tail.is_empty() { self.codec } else { Compression::UNCOMPRESSED };
        match codec {
            Compression::SNAPPY => {
                let length = snap::raw::decompress_len(tail).map_err(external)?;
                if length > left {
                    return Err(self.too_large());
                }
                bytes.resize(plain + length, 0);
                snap::raw::Decoder::new().decompress(tail, &mut bytes[plain..]).map_err(external)?;
            }
            Compression::GZIP(_) => fill(MultiGzDecoder::new(tail), &mut bytes, left)?,
            Compression::ZSTD(_) => {
                let mut decoder = zstd::stream::read::Decoder::with_buffer(tail)?;
                decoder.window_log_max(ZSTD_WINDOW_LOG_MAX)?;
                fill(decoder, &mut bytes, left)?;
            }
            _ => bytes.extend_from_slice(tail),
        }
        let share = self.budget.take(bytes.len()).ok_or_else(|| self.too_large())?;
        Ok(Bytes::from_owner(Held { bytes, _share: share }))
    }

    /// Checks a data page, whose levels of repetition and definition and values are in these parts.
    fn check(&mut self, repetitions: &[u8], values: &[u8], encoding: Encoding, count: u32) -> Result<()> {
        let count = count as usize;
        if self.column.max_rep_level() == 0 {
            self.rows.row += count as u64;
            return check_lengths(values, encoding, count);
        }
        self.lists = None;
        if !self.rows.count(repetitions, count, CELL_VALUES_MAX)? {
            let words = format!("has more than {CELL_VALUES_MAX} values in a list");
            return Err(self.excess(self.rows.row, &words));
        }
        let share = self.budget.take(self.rows.most.saturating_mul(VALUE_BYTES));
        self.lists = Some(share.ok_or_else(|| self.too_large())?);
        // Each value repeats a part of the one before, so the length of such a list is known only when it is made.
        if encoding == Encoding::DELTA_BYTE_ARRAY {
            return Err(
                self.excess(self.rows.row, "has a list in the encoding DELTA_BYTE_ARRAY, which is not read,")
            );
        }
        check_lengths(values, encoding, count)
    }

    fn check_first(
        &mut self,
        page: &[u8],
        encoding: Encoding,
        repetitions: Encoding,
        count: u32,
    ) -> Result<()> {
        let (mut rest, mut levels) = (page, &page[..0]);
        if self.column.max_rep_level() > 0 {
            if repetitions != Encoding::RLE {
                return Err(ParquetError::General(
                    "its lists are in a form of levels that is not read".to_owned(),
                ));
            }
            levels = prefixed(&mut rest)?;
        }
        if self.column.max_def_level() > 0 && is_delta(encoding) {
            prefixed(&mut rest)?;
        }
        self.check(levels, rest, encoding, count)
    }

    /// A dictionary is kept as a list of its values.
    fn keep_dictionary(&mut self, page: &[u8], count: u32) -> Result<()> {
        let (count, width) = (count as usize, size_of::<ByteArray>());
        let least = match self.column.physical_type() {
            Type::BOOLEAN | Type::FIXED_LEN_BYTE_ARRAY => 1,
            Type::INT64 | Type::DOUBLE => 8,
            Type::INT96 => 12,
            _ => 4,
        };
        if count.saturating_mul(least) > page.len() {
            return Err(broken());
        }
        self.dictionary =
            Some(self.budget.take(count.saturating_mul(width)).ok_or_else(|| self.too_large())?);
        Ok(())
    }
}

impl PageReader for Pages {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        let Some(mut page) = self.inner.get_next_page()? else { return Ok(None) };
        match &mut page {
            Page::DataPage { buf, num_values, encoding, rep_level_encoding, .. } => {
                *buf = self.decompressed(buf, 0, true)?;
                self.check_first(buf, *encoding, *rep_level_encoding, *num_values)?;
            }
            Page::DataPageV2 {
                buf,
                num_values,
                encoding,
                def_levels_byte_len,
                rep_levels_byte_len,
                is_compressed,
                ..
            } => {
                let repetitions = *rep_levels_byte_len as usize;
                let levels = repetitions.saturating_add(*def_levels_byte_len as usize);
                *buf = self.decompressed(buf, levels, *is_compressed)?;
                self.check(&buf[..repetitions], &buf[levels..], *encoding, *num_values)?;
            }
            Page::DictionaryPage { buf, num_values, .. } => {
                *buf = self.decompressed(buf, 0, true)?;
                self.keep_dictionary(buf, *num_values)?;
            }
        }
        Ok(Some(page))
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        self.inner.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.inner.skip_next_page()
    }

    fn at_record_boundary(&mut self) -> Result<bool> {
        self.inner.at_record_boundary()
    }
}

impl Iterator for Pages {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

fn is_delta(encoding: Encoding) -> bool {
    matches!(encoding, Encoding::DELTA_LENGTH_BYTE_ARRAY | Encoding::DELTA_BYTE_ARRAY)
}

/// Levels behind their length.
fn prefixed<'a>(page: &mut &'a [u8]) -> Result<&'a [u8]> {
    let length = take(page, 4)?.try_into().map_or(0, u32::from_le_bytes);
    take(page, length as usize)
}

/// Reads at most one byte more than `max`.
fn fill(from: impl Read, into: &mut Vec<u8>, max: usize) -> Result<()> {
    from.take(max as u64 + 1).read_to_end(into)?;
    Ok(())
}

fn external(error: snap::Error) -> ParquetError {
    ParquetError::External(Box::new(error))
}
