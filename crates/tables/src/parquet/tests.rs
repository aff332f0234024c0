//! Small files that claim much.

use std::fs::File;
use std::sync::Arc;

use parquet::basic::{Compression, Encoding, GzipLevel, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, Int32Type};
use parquet::file::properties::{WriterProperties, WriterVersion};
use parquet::file::reader::FileReader;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

use super::pages::{BoundedFile, CELL_VALUES_MAX, Excess, MEMORY_BYTES_MAX};
use super::*;
use crate::joining::Join;
use crate::kinds::Kind;
use crate::rows::Rows;
use crate::shared::SharedFile;
use crate::{Column, ColumnType, Columns, Formulas};

const NUMBERS: &str =
    "message m { optional group a (LIST) { repeated group list { optional int32 element; } } }";
const TEXTS: &str =
    "message m { optional group a (LIST) { repeated group list { optional binary element (UTF8); } } }";
const TEXT: &str = "message m { required binary a (UTF8); }";

fn write<T: DataType>(
    message: &str,
    properties: WriterProperties,
    values: &[T::T],
    levels: Option<(&[i16], &[i16])>,
) -> SharedFile {
    let schema = Arc::new(parse_message_type(message).unwrap());
    let out = tempfile::tempfile().unwrap();
    let mut file: SerializedFileWriter<File> =
        SerializedFileWriter::new(out, schema, Arc::new(properties)).unwrap();
    let mut group = file.next_row_group().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    let (definitions, repetitions) = levels.unzip();
    column.typed::<T>().write_batch(values, definitions, repetitions).unwrap();
    column.close().unwrap();
    group.close().unwrap();
    SharedFile::new(file.into_inner().unwrap()).unwrap()
}

/// Rows of lists of so many equal values.
fn lists<T: DataType>(
    message: &str,
    properties: WriterProperties,
    value: &T::T,
    lengths: &[usize],
) -> SharedFile {
    let count = lengths.iter().sum();
    let repetitions = lengths.iter().flat_map(|length| (0..*length).map(|place| i16::from(place > 0)));
    let repetitions: Vec<i16> = repetitions.collect();
    write::<T>(message, properties, &vec![value.clone(); count], Some((&vec![3; count], &repetitions)))
}

fn zstd() -> WriterProperties {
    WriterProperties::builder().set_compression(Compression::ZSTD(ZstdLevel::default())).build()
}

/// The rows that are read, and why no more are.
fn read(file: &SharedFile) -> (usize, Option<String>) {
    let mut count = 0;
    for row in Rows::open(file, "parquet".parse().unwrap()).unwrap() {
        match row {
            Ok(_) => count += 1,
            Err(error) => return (count, Some(error.to_string())),
        }
    }
    (count, None)
}

#[test]
fn a_list_of_too_many_values_is_refused_before_any_is_made() {
    let versions = [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0];
    for version in versions {
        let properties = WriterProperties::builder().set_writer_version(version).build();
        let file = lists::<Int32Type>(NUMBERS, properties, &7, &[1, 3, CELL_VALUES_MAX + 1]);
        assert!(file.bytes() < 2_000, "{}", file.bytes());
        let (_, told) = read(&file);
        let expected = "line 3 has more than 1048576 values in a list in the column \"a.list.element\"";
        assert_eq!(told.as_deref(), Some(expected));
        let properties = WriterProperties::builder().set_writer_version(version).build();
        assert_eq!(read(&lists::<Int32Type>(NUMBERS, properties, &7, &[1, 100_000, 2])), (3, None));
    }
}

#[test]
fn a_list_that_repeats_a_long_text_is_refused_before_it_is_made() {
    let text = ByteArray::from("x".repeat(64 << 10).into_bytes());
    let file = lists::<ByteArrayType>(TEXTS, zstd(), &text, &[2, 1_025]);
    assert!(file.bytes() < 2_000, "{}", file.bytes());
    let told =
        "line 2 is a row of more than 67108864 bytes, the last of them in the column \"a.list.element\"";
    assert_eq!(read(&file), (1, Some(told.to_owned())));
    assert_eq!(read(&lists::<ByteArrayType>(TEXTS, zstd(), &text, &[1_000, 1_000])), (2, None));
}

#[test]
fn a_long_text_is_refused_with_its_column() {
    let text = ByteArray::from(vec![b'x'; (64 << 20) + 1]);
    let file = write::<ByteArrayType>(TEXT, zstd(), &[ByteArray::from("a"), text], None);
    let told = "line 2 is a row of more than 67108864 bytes, the last of them in the column \"a\"";
    assert_eq!(read(&file), (1, Some(told.to_owned())));
}

#[test]
fn pages_beyond_the_memory_are_refused_while_they_are_decompressed() {
    let text = ByteArray::from(vec![b'x'; 100_000]);
    for compression in [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::GZIP(GzipLevel::default()),
        Compression::ZSTD(ZstdLevel::default()),
    ] {
        for (version, dictionary) in [(WriterVersion::PARQUET_1_0, true), (WriterVersion::PARQUET_2_0, false)]
        {
            let properties = WriterProperties::builder()
                .set_compression(compression)
                .set_writer_version(version)
                .set_dictionary_enabled(dictionary)
                .set_encoding(Encoding::PLAIN)
                .build();
            let file = write::<ByteArrayType>(TEXT, properties, std::slice::from_ref(&text), None);
            let bounded = BoundedFile::open(&file).unwrap();
            let pages = |taken: usize| {
                let _taken = bounded.take(taken).expect("room");
                bounded
                    .get_row_group(0)
                    .unwrap()
                    .get_column_page_reader(0)
                    .unwrap()
                    .collect::<Result<Vec<_>>>()
            };
            assert!(!pages(MEMORY_BYTES_MAX - 200_000).unwrap().is_empty());
            let ParquetError::External(error) = pages(MEMORY_BYTES_MAX - 99_999).unwrap_err() else {
                panic!("another error")
            };
            let excess = error.downcast::<Excess>().unwrap();
            assert!(excess.words.starts_with("needs more than 536870912 bytes"), "{excess}");
            assert_eq!(excess.row, 1);
            assert!(bounded.take(MEMORY_BYTES_MAX).is_some(), "all of it is given back");
        }
    }
}

#[test]
fn lists_of_all_columns_share_the_memory() {
    let properties = || WriterProperties::builder().build();
    let file = lists::<Int32Type>(NUMBERS, properties(), &7, &[1_000_000]);
    let bounded = BoundedFile::open(&file).unwrap();
    let next = || {
        let mut pages = bounded.get_row_group(0).unwrap().get_column_page_reader(0).unwrap();
        let read = pages.by_ref().collect::<Result<Vec<_>>>().map(|_| ());
        (pages, read)
    };
    let (first, second) = (next(), next());
    assert!(first.1.is_ok() && second.1.is_ok());
    assert!(next().1.is_err());
    drop(first);
    assert!(next().1.is_ok());
}

#[test]
fn every_encoding_is_read_and_copied_as_before() {
    let texts: Vec<ByteArray> =
        (0..5_000).map(|number| ByteArray::from(format!("text {number}").into_bytes())).collect();
    let kind: Kind = "parquet".parse().unwrap();
    for encoding in [Encoding::PLAIN, Encoding::DELTA_LENGTH_BYTE_ARRAY, Encoding::DELTA_BYTE_ARRAY] {
        let properties =
            || WriterProperties::builder().set_dictionary_enabled(false).set_encoding(encoding).build();
        let file = write::<ByteArrayType>(TEXT, properties(), &texts, None);
        let columns = Columns::named([Arc::from("a")]).unwrap();
        let source = Some((&file, kind, &columns));
        let added = vec![Column::new("b", ColumnType::Text)];
        let out = tempfile::tempfile().unwrap();
        let mut join = Join::begin(out, kind, Formulas::Kept, source, added).unwrap();
        (0..texts.len()).for_each(|_| join.push(vec!["x".into()]).unwrap());
        let copy = SharedFile::new(join.finish().unwrap()).unwrap();
        for file in [file, copy] {
            for (number, row) in Rows::open(&file, kind).unwrap().enumerate() {
                assert_eq!(row.unwrap().cells[0].1, format!("text {number}"));
            }
            assert_eq!(read(&file), (5_000, None));
        }
        let listed = lists::<ByteArrayType>(TEXTS, properties(), &texts[0], &[3, 1]);
        let expected =
            (encoding == Encoding::DELTA_BYTE_ARRAY).then_some("DELTA_BYTE_ARRAY, which is not read");
        let told = read(&listed).1;
        assert_eq!(told.is_some(), expected.is_some(), "{told:?}");
        assert!(told.unwrap_or_default().contains(expected.unwrap_or_default()));
    }
}
