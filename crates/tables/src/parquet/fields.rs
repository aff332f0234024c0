//! What stands in a row of a Parquet file, as JSON has it. Dates, times and decimals are text; bytes are text where they are
//! UTF-8, else hexadecimal digits.

use parquet::record::Field;
use serde_json::{Map, Number, Value};

const NANOS: i64 = 1_000_000_000;

pub(super) fn value_of(field: Field) -> Value {
    match field {
        Field::Null => Value::Null,
        Field::Bool(value) => value.into(),
        Field::Byte(value) => value.into(),
        Field::Short(value) => value.into(),
        Field::Int(value) => value.into(),
        Field::Long(value) => value.into(),
        Field::UByte(value) => value.into(),
        Field::UShort(value) => value.into(),
        Field::UInt(value) => value.into(),
        Field::ULong(value) => value.into(),
        Field::Float16(value) => number(f64::from(value)),
        // Its own digits, not those of the nearest number of 64 bits.
        Field::Float(value) => value.to_string().parse().map_or(Value::Null, number),
        Field::Double(value) => number(value),
        Field::Str(text) => Value::String(text),
        Field::Bytes(bytes) => Value::String(match std::str::from_utf8(bytes.data()) {
            Ok(text) => text.to_owned(),
            Err(_) => bytes.data().iter().map(|byte| format!("{byte:02x}")).collect(),
        }),
        Field::Group(row) => members(row.into_columns()),
        Field::ListInternal(list) => list.elements().iter().cloned().map(value_of).collect(),
        Field::MapInternal(map) => {
            let entries = map.entries().iter().cloned();
            members(entries.map(|(key, value)| (key_of(key), value)).collect())
        }
        field @ (Field::Decimal(_)
        | Field::Date(_)
        | Field::TimeMillis(_)
        | Field::TimeMicros(_)
        | Field::TimestampMillis(_)
        | Field::TimestampMicros(_)) => Value::String(time_of(&field)),
    }
}

/// A count of nanoseconds since 1970, as the time that it is.
pub(super) fn nanoseconds(field: Field) -> Value {
    match field {
        Field::Long(nanos) => {
            let seconds = time_of(&Field::TimestampMillis(nanos.div_euclid(NANOS).saturating_mul(1_000)));
            let (until_seconds, zone) = seconds.split_once('.').unwrap_or((&seconds, "000 +00:00"));
            let zone = zone.trim_start_matches(|c: char| c.is_ascii_digit());
            Value::String(format!("{until_seconds}.{:09}{zone}", nanos.rem_euclid(NANOS)))
        }
        other => value_of(other),
    }
}

fn time_of(field: &Field) -> String {
    field.to_string()
}

fn members(fields: Vec<(String, Field)>) -> Value {
    Value::Object(fields.into_iter().map(|(name, field)| (name, value_of(field))).collect::<Map<_, _>>())
}

fn key_of(key: Field) -> String {
    match value_of(key) {
        Value::String(text) => text,
        other => other.to_string(),
    }
}

/// What is no number to JSON is nothing.
fn number(value: f64) -> Value {
    Number::from_f64(value).map_or(Value::Null, Value::Number)
}
