use std::fs::File;
use std::io::Read;
use std::sync::Arc as StdArc;

use parquet::data_type::{ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use serde_json::json;

use super::*;
use crate::cells::ColumnType;

fn shared(bytes: &[u8]) -> SharedFile {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(bytes).unwrap();
    SharedFile::new(file).unwrap()
}

fn seen(file: &SharedFile, kind: Kind) -> Columns {
    let mut columns = match Rows::open(file, kind).unwrap().names() {
        Some(names) => Columns::named(names.iter().cloned()).unwrap(),
        None => Columns::default(),
    };
    Rows::open(file, kind).unwrap().for_each(|row| columns.see(&row.unwrap()).unwrap());
    columns
}

fn added() -> Vec<Column> {
    vec![Column::new("answer", ColumnType::Text), Column::new("tokens", ColumnType::Integer)]
}

/// Every row of a file, with an answer and a number as further cells.
fn join(file: &SharedFile, from: &str, to: &str) -> SharedFile {
    let (from, to): (Kind, Kind) = (from.parse().unwrap(), to.parse().unwrap());
    let columns = seen(file, from);
    let mut join =
        Join::begin(tempfile::tempfile().unwrap(), to, Formulas::Kept, Some((file, from, &columns)), added())
            .unwrap();
    for number in 0..Rows::open(file, from).unwrap().count() {
        join.push(vec![json!(format!("a {number}")), if number == 1 { Value::Null } else { json!(number) }])
            .unwrap();
    }
    let out: File = join.finish().unwrap();
    SharedFile::new(out).unwrap()
}

fn text(file: &SharedFile) -> String {
    let mut text = String::new();
    file.cursor().read_to_string(&mut text).unwrap();
    text
}

fn cells(file: &SharedFile, kind: &str) -> Vec<Vec<(String, Value)>> {
    let rows = Rows::open(file, kind.parse().unwrap()).unwrap();
    rows.map(|row| row.unwrap().cells.into_iter().map(|(name, value)| (name.to_string(), value)).collect())
        .collect()
}

fn write<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, File>,
    values: &[T::T],
    definitions: Option<&[i16]>,
    repetitions: Option<&[i16]>,
) {
    let mut column = group.next_column().unwrap().unwrap();
    column.typed::<T>().write_batch(values, definitions, repetitions).unwrap();
    column.close().unwrap();
}

/// Three rows in groups of two and one: a required number, optional text, a list of numbers, and a time in nanoseconds.
fn nested() -> SharedFile {
    let message = "message m {
        required int32 id (INTEGER(16, true));
        optional binary name (UTF8);
        optional group tags (LIST) { repeated group list { optional int64 element; } }
        optional int64 at (TIMESTAMP(NANOS, true));
    }";
    let schema = StdArc::new(parse_message_type(message).unwrap());
    let properties = StdArc::new(WriterProperties::builder().build());
    let mut file = SerializedFileWriter::new(tempfile::tempfile().unwrap(), schema, properties).unwrap();
    let texts = |texts: &[&str]| texts.iter().map(|text| ByteArray::from(*text)).collect::<Vec<_>>();
    let mut group = file.next_row_group().unwrap();
    write::<Int32Type>(&mut group, &[1, 2], None, None);
    write::<ByteArrayType>(&mut group, &texts(&["a"]), Some(&[1, 0]), None);
    write::<Int64Type>(&mut group, &[10, 20], Some(&[3, 3, 0]), Some(&[0, 1, 0]));
    write::<Int64Type>(&mut group, &[1_000_000_001], Some(&[1, 0]), None);
    group.close().unwrap();
    let mut group = file.next_row_group().unwrap();
    write::<Int32Type>(&mut group, &[3], None, None);
    write::<ByteArrayType>(&mut group, &texts(&["c"]), Some(&[1]), None);
    write::<Int64Type>(&mut group, &[], Some(&[1]), Some(&[0]));
    write::<Int64Type>(&mut group, &[-1], Some(&[1]), None);
    group.close().unwrap();
    SharedFile::new(file.into_inner().unwrap()).unwrap()
}

#[test]
fn parquet_is_copied_with_all_of_its_types() {
    let source = nested();
    let out = join(&source, "parquet", "parquet");
    let schema_of = |file: &SharedFile| {
        let reader = SerializedFileReader::new(file.clone()).unwrap();
        reader.metadata().file_metadata().schema().get_fields().to_vec()
    };
    let (before, after) = (schema_of(&source), schema_of(&out));
    assert_eq!(after[..4], before[..]);
    let names: Vec<&str> = after[4..].iter().map(|field| field.name()).collect();
    assert_eq!(names, ["answer", "tokens"]);
    let (before, after) = (cells(&source, "parquet"), cells(&out, "parquet"));
    assert_eq!((before.len(), after.len()), (3, 3));
    for (number, (before, after)) in before.iter().zip(&after).enumerate() {
        assert_eq!(after[..4], before[..]);
        assert_eq!(after[4].1, json!(format!("a {number}")));
        assert_eq!(after[5].1, if number == 1 { Value::Null } else { json!(number) });
    }
    assert_eq!(after[0][2].1, json!([10, 20]));
    assert_eq!((&after[1][1].1, &after[1][2].1, &after[2][2].1), (&json!(null), &json!(null), &json!([])));
    assert_eq!(after[0][3].1, json!("1970-01-01 00:00:01.000000001 +00:00"));
    assert_eq!(after[2][3].1, json!("1969-12-31 23:59:59.999999999 +00:00"));
}

#[test]
fn parquet_becomes_text() {
    let source = nested();
    assert_eq!(
        text(&join(&source, "parquet", "csv")),
        "id,name,tags,at,answer,tokens\n\
         1,a,\"[10,20]\",1970-01-01 00:00:01.000000001 +00:00,a 0,0\n\
         2,,,,a 1,\n\
         3,c,[],1969-12-31 23:59:59.999999999 +00:00,a 2,2\n"
    );
    let first = text(&join(&source, "parquet", "jsonl")).lines().next().unwrap().to_owned();
    assert_eq!(
        first,
        "{\"id\":1,\"name\":\"a\",\"tags\":[10,20],\"at\":\"1970-01-01 00:00:01.000000001 +00:00\",\"answer\":\"a 0\",\"tokens\":0}"
    );
}

#[test]
fn text_becomes_parquet_with_the_types_that_its_cells_have() {
    let lines = shared(b"{\"n\":1,\"x\":1.5,\"t\":\"a\",\"f\":true}\n{\"n\":2,\"x\":3,\"j\":[1]}\n");
    let out = join(&lines, "jsonl", "parquet");
    let read = cells(&out, "parquet");
    let value = |row: usize, name: &str| read[row].iter().find(|(known, _)| known == name).unwrap().1.clone();
    assert_eq!((value(0, "n"), value(1, "x"), value(0, "t")), (json!(1), json!(3.0), json!("a")));
    assert_eq!((value(1, "t"), value(0, "f"), value(1, "j")), (json!(null), json!(true), json!("[1]")));
    let table = shared(b"a,b\n1,\"x\ny\"\n,z\n");
    let read = cells(&join(&table, "csv", "parquet"), "parquet");
    assert_eq!((&read[0][1].1, &read[1][0].1, &read[1][2].1), (&json!("x\ny"), &json!(""), &json!("a 1")));
}

#[test]
fn every_text_is_written_in_every_compression() {
    let table = shared(b"a\n1\n");
    for kind in ["csv", "csv.gz", "csv.zst", "jsonl", "jsonl.gz", "jsonl.zst"] {
        let out = join(&table, "csv", kind);
        let read = cells(&out, kind);
        assert_eq!((&read[0][0].1, &read[0][1].1), (&json!("1"), &json!("a 0")), "{kind}");
    }
}

#[test]
fn a_json_line_stays_as_it_is() {
    let lines = shared(b"{\"a\": 1.00, \"b\": {} }\n{}\n");
    assert_eq!(
        text(&join(&lines, "jsonl", "jsonl")),
        "{\"a\": 1.00, \"b\": {},\"answer\":\"a 0\",\"tokens\":0}\n{\"answer\":\"a 1\",\"tokens\":null}\n"
    );
}

#[test]
fn a_large_table_is_written_in_groups_and_keeps_its_order() {
    let mut bytes = b"n\n".to_vec();
    (0..120_000).for_each(|number| writeln!(bytes, "{number}").unwrap());
    let first = join(&shared(&bytes), "csv", "parquet");
    let columns = seen(&first, "parquet".parse().unwrap());
    let kind: Kind = "parquet".parse().unwrap();
    let more = vec![Column::new("more", ColumnType::Number)];
    let mut again = Join::begin(
        tempfile::tempfile().unwrap(),
        kind,
        Formulas::Kept,
        Some((&first, kind, &columns)),
        more,
    )
    .unwrap();
    // Larger rows fill a group sooner.
    let text = json!("x".repeat(2_000));
    (0..120_000).for_each(|_| again.push(vec![text.clone()]).unwrap());
    let out = SharedFile::new(again.finish().unwrap()).unwrap();
    let mut count = 0;
    for (number, row) in Rows::open(&out, kind).unwrap().enumerate() {
        assert_eq!(row.unwrap().cells[0].1, json!(number.to_string()));
        count += 1;
    }
    assert_eq!(count, 120_000);
    assert!(SerializedFileReader::new(out).unwrap().num_row_groups() > 3);
}

#[test]
fn a_row_that_is_not_there_any_more_is_noticed() {
    let table = shared(b"a\n1\n");
    let kind = "csv".parse().unwrap();
    let columns = seen(&table, kind);
    let mut join =
        Join::begin(Vec::new(), kind, Formulas::Kept, Some((&table, kind, &columns)), added()).unwrap();
    join.push(vec![Value::Null, Value::Null]).unwrap();
    assert!(matches!(join.push(vec![Value::Null, Value::Null]), Err(WriteError::Missing)));
}

#[test]
fn a_table_of_ones_own_columns_needs_no_other() {
    let mut join = Join::begin(Vec::new(), "csv".parse().unwrap(), Formulas::Kept, None, added()).unwrap();
    join.push(vec![json!("x"), json!(1)]).unwrap();
    assert_eq!(String::from_utf8(join.finish().unwrap()).unwrap(), "answer,tokens\nx,1\n");
}

#[test]
fn formulas_are_escaped_in_every_cell_and_name_of_a_csv() {
    let table = shared(b"@id,n\n=1+1,-1\n");
    let kind = "csv".parse().unwrap();
    let source = (&table, kind, &seen(&table, kind));
    let mut join = Join::begin(Vec::new(), kind, Formulas::Escaped, Some(source), added()).unwrap();
    join.push(vec![json!("-2+3\n"), json!(-4)]).unwrap();
    let written = String::from_utf8(join.finish().unwrap()).unwrap();
    assert_eq!(written, "'@id,n,answer,tokens\n'=1+1,-1,\"'-2+3\n\",-4\n");
}

#[test]
fn a_broken_parquet_file_is_refused_whatever_is_broken() {
    let mut bytes = Vec::new();
    nested().cursor().read_to_end(&mut bytes).unwrap();
    let kind: Kind = "parquet".parse().unwrap();
    for place in (0..bytes.len()).step_by(3) {
        let mut broken = bytes.clone();
        broken[place] ^= 0xff;
        // It is refused or reads differently; it neither panics nor loops.
        if let Ok(rows) = Rows::open(&shared(&broken), kind) {
            let _ = rows.take(1_000).take_while(Result::is_ok).count();
        }
    }
}

/// Three rows in groups of two and one, by Arrow's C++ library: a category, a duration, a time of Europe/Berlin, times of no zone, also
/// inside a list of structs, and a list of two.
const BY_ARROW: &[u8] = include_bytes!("fixtures/arrow.parquet");

#[test]
fn what_only_the_schema_of_arrow_says_stays_with_a_copy() {
    let source = shared(BY_ARROW);
    let note = |file: &SharedFile| {
        let reader = SerializedFileReader::new(file.clone()).unwrap();
        let metadata = reader.metadata().file_metadata();
        let notes = metadata.key_value_metadata().unwrap().clone();
        let note = notes.into_iter().find(|note| note.key == "ARROW:schema").unwrap().value.unwrap();
        (note, metadata.schema().get_fields().len())
    };
    let out = join(&source, "parquet", "parquet");
    let ((before, _), (after, fields)) = (note(&source), note(&out));
    assert_eq!(fields, 9);
    assert!(after.len() > before.len(), "{after}");
    assert_eq!(cells(&out, "parquet")[1][..7], cells(&source, "parquet")[1][..]);
}

#[test]
fn times_are_text_wherever_they_stand() {
    let rows = cells(&shared(BY_ARROW), "parquet");
    let values: Vec<&Value> = rows[0].iter().map(|(_, value)| value).collect();
    let local = "2024-02-29 23:59:58.123456000";
    assert_eq!(
        values,
        [
            &json!("a"),
            &json!(3_600_000_000_i64),
            &json!("2024-02-29 23:59:58.123456 +00:00"),
            &json!(local),
            &json!("23:59:58.123456000"),
            &json!([{"t": local, "n": 1}]),
            &json!([1, 2]),
        ]
    );
    assert!(rows[2][..6].iter().all(|(name, value)| name == "category" || value.is_null()));
}

#[test]
fn a_compression_that_is_not_read_is_named() {
    let told = Rows::open(&shared(include_bytes!("fixtures/brotli.parquet")), "parquet".parse().unwrap());
    let told = told.err().unwrap().to_string();
    assert!(told.contains("the column \"a\" is compressed with Brotli, which is not read"), "{told}");
}
