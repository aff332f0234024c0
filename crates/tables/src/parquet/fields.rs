//! The values of a Parquet row as JSON. Dates, times and decimals are text; bytes are text if they are UTF-8, otherwise hexadecimal digits.

use parquet::basic::{ConvertedType, LogicalType, TimeUnit};
use parquet::record::Field;
use parquet::schema::types::Type;
use serde_json::{Map, Number, Value};

/// The interpretation of a field's values. That of a list or a map is that of its elements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Shape {
    Plain,
    /// Times, in units of so many decimals of a second: since 1970, in UTC or without a zone, or since midnight.
    Time {
        decimals: u32,
        origin: Origin,
    },
    Group(Vec<Shape>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    Epoch { is_utc: bool },
    Midnight,
}

impl Shape {
    pub(super) fn of(field: &Type) -> Self {
        let info = field.get_basic_info();
        if field.is_primitive() {
            let decimals = |unit: &TimeUnit| match unit {
                TimeUnit::MILLIS => 3,
                TimeUnit::MICROS => 6,
                TimeUnit::NANOS => 9,
            };
            return match info.logical_type_ref() {
                Some(LogicalType::Timestamp(time)) => Self::Time {
                    decimals: decimals(&time.unit),
                    origin: Origin::Epoch { is_utc: time.is_adjusted_to_u_t_c },
                },
                Some(LogicalType::Time(time)) => {
                    Self::Time { decimals: decimals(&time.unit), origin: Origin::Midnight }
                }
                _ => Self::Plain,
            };
        }
        let members = field.get_fields();
        match (info.converted_type(), members) {
            (ConvertedType::LIST, [element]) => Self::inside(element, 0),
            (ConvertedType::MAP | ConvertedType::MAP_KEY_VALUE, [entry]) => Self::inside(entry, 1),
            _ => {
                let shapes: Vec<Self> = members.iter().map(|member| Self::of(member)).collect();
                if shapes.iter().all(|shape| *shape == Self::Plain) {
                    Self::Plain
                } else {
                    Self::Group(shapes)
                }
            }
        }
    }

    /// The shape of the member at `place` of the repeated group, or of the group itself in old forms of lists.
    fn inside(repeated: &Type, place: usize) -> Self {
        let is_old = place == 0 && (repeated.is_primitive() || repeated.get_fields().len() > 1);
        match repeated.is_group().then(|| repeated.get_fields().get(place)).flatten() {
            Some(member) if !is_old => Self::of(member),
            _ => Self::of(repeated),
        }
    }

    fn member(&self, place: usize) -> &Self {
        match self {
            Self::Group(shapes) => shapes.get(place).unwrap_or(&Self::Plain),
            _ => &Self::Plain,
        }
    }
}

const DAY_S: i64 = 86_400;
/// The most days from 1970 that are written as dates, some 246,000 years; the date library supports little more.
const DAYS_MAX: i64 = 90_000_000;

pub(super) fn value_of(field: Field, shape: &Shape) -> Value {
    if let Shape::Time { decimals, origin } = shape
        && let Some(count) = count_of(&field)
    {
        return time_text(count, *decimals, *origin).map_or(Value::from(count), Value::String);
    }
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
        // Its own digits, not those of the nearest 64-bit number.
        Field::Float(value) => value.to_string().parse().map_or(Value::Null, number),
        Field::Double(value) => number(value),
        Field::Str(text) => Value::String(text),
        Field::Bytes(bytes) => Value::String(match std::str::from_utf8(bytes.data()) {
            Ok(text) => text.to_owned(),
            Err(_) => bytes.data().iter().map(|byte| format!("{byte:02x}")).collect(),
        }),
        Field::Group(row) => {
            let members = row.into_columns().into_iter().enumerate();
            let members = members.map(|(place, (name, field))| (name, value_of(field, shape.member(place))));
            Value::Object(members.collect::<Map<_, _>>())
        }
        Field::ListInternal(list) => {
            list.elements().iter().cloned().map(|element| value_of(element, shape)).collect()
        }
        Field::MapInternal(map) => {
            let entries = map.entries().iter().cloned();
            let entries = entries.map(|(key, value)| (key_of(key), value_of(value, shape)));
            Value::Object(entries.collect::<Map<_, _>>())
        }
        Field::Date(days) if !(-DAYS_MAX..=DAYS_MAX).contains(&i64::from(days)) => days.into(),
        field @ (Field::Decimal(_) | Field::Date(_)) => Value::String(field.to_string()),
        Field::TimeMillis(count) => legacy_time(i64::from(count), 3, Origin::Midnight),
        Field::TimeMicros(count) => legacy_time(count, 6, Origin::Midnight),
        Field::TimestampMillis(count) => legacy_time(count, 3, Origin::Epoch { is_utc: true }),
        Field::TimestampMicros(count) => legacy_time(count, 6, Origin::Epoch { is_utc: true }),
    }
}

/// A time whose column has only the legacy annotation.
fn legacy_time(count: i64, decimals: u32, origin: Origin) -> Value {
    time_text(count, decimals, origin).map_or(Value::from(count), Value::String)
}

fn count_of(field: &Field) -> Option<i64> {
    match field {
        Field::Int(count) | Field::TimeMillis(count) => Some(i64::from(*count)),
        Field::Long(count)
        | Field::TimeMicros(count)
        | Field::TimestampMillis(count)
        | Field::TimestampMicros(count) => Some(*count),
        _ => None,
    }
}

/// `None` if no calendar or clock has this time.
fn time_text(count: i64, decimals: u32, origin: Origin) -> Option<String> {
    let (seconds, rest) = (count.div_euclid(10_i64.pow(decimals)), count.rem_euclid(10_i64.pow(decimals)));
    let fits = match origin {
        Origin::Epoch { .. } => (-DAYS_MAX * DAY_S..=DAYS_MAX * DAY_S).contains(&seconds),
        Origin::Midnight => (0..DAY_S).contains(&seconds),
    };
    if !fits {
        return None;
    }
    let whole = Field::TimestampMillis(seconds.saturating_mul(1_000)).to_string();
    let whole = whole.split_once('.').map_or(whole.as_str(), |(whole, _)| whole);
    let (whole, zone) = match origin {
        Origin::Epoch { is_utc: true } => (whole, " +00:00"),
        Origin::Epoch { is_utc: false } => (whole, ""),
        Origin::Midnight => (whole.split_once(' ').map_or(whole, |(_, time)| time), ""),
    };
    Some(format!("{whole}.{rest:0width$}{zone}", width = decimals as usize))
}

fn key_of(key: Field) -> String {
    match value_of(key, &Shape::Plain) {
        Value::String(text) => text,
        other => other.to_string(),
    }
}

/// Null if JSON has no such number.
fn number(value: f64) -> Value {
    Number::from_f64(value).map_or(Value::Null, Value::Number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_dates_that_no_calendar_has_are_numbers() {
        let epoch = |decimals| Shape::Time { decimals, origin: Origin::Epoch { is_utc: true } };
        let midnight = |decimals| Shape::Time { decimals, origin: Origin::Midnight };
        for (count, shape, expected) in [
            (0, epoch(3), Value::from("1970-01-01 00:00:00.000 +00:00")),
            (i64::MAX, epoch(3), i64::MAX.into()),
            (i64::MIN, epoch(6), i64::MIN.into()),
            (1 << 60, epoch(3), (1_i64 << 60).into()),
            (i64::MAX, epoch(9), Value::from("2262-04-11 23:47:16.854775807 +00:00")),
            (61_000, midnight(3), Value::from("00:01:01.000")),
            (86_400_000, midnight(3), 86_400_000.into()),
            (-1, midnight(6), (-1).into()),
        ] {
            assert_eq!(value_of(Field::Long(count), &shape), expected, "{count} {shape:?}");
        }
        assert_eq!(value_of(Field::Date(i32::MAX), &Shape::Plain), Value::from(i32::MAX));
        assert_eq!(value_of(Field::Date(1), &Shape::Plain), Value::from("1970-01-02"));
        assert_eq!(value_of(Field::TimestampMicros(i64::MAX), &Shape::Plain), Value::from(i64::MAX));
        assert_eq!(value_of(Field::TimeMillis(-1), &Shape::Plain), Value::from(-1));
    }
}
