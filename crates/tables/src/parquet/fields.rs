//! What stands in a row of a Parquet file, as JSON has it. Dates, times and decimals are text; bytes are text where they are
//! UTF-8, else hexadecimal digits.

use parquet::basic::{ConvertedType, LogicalType, TimeUnit};
use parquet::record::Field;
use parquet::schema::types::Type;
use serde_json::{Map, Number, Value};

/// What a field says of its values that the values do not say themselves. That of a list or a map is that of its elements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Shape {
    /// Nothing.
    Plain,
    /// Times, of which so many decimals of seconds are counted: since 1970, in UTC or anywhere, or since midnight.
    Time { decimals: u32, origin: Origin },
    /// Those of its members.
    Group(Vec<Shape>),
}

/// Since when time is counted.
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

    /// Of the member at `place` of the group that is repeated; or of that itself, where it is what a list of old repeats.
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

pub(super) fn value_of(field: Field, shape: &Shape) -> Value {
    if let Shape::Time { decimals, origin } = shape
        && let Some(count) = count_of(&field)
    {
        return Value::String(time_text(count, *decimals, *origin));
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
        // Its own digits, not those of the nearest number of 64 bits.
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
        field @ (Field::Decimal(_)
        | Field::Date(_)
        | Field::TimeMillis(_)
        | Field::TimeMicros(_)
        | Field::TimestampMillis(_)
        | Field::TimestampMicros(_)) => Value::String(field.to_string()),
    }
}

/// What a time counts.
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

fn time_text(count: i64, decimals: u32, origin: Origin) -> String {
    let (seconds, rest) = (count.div_euclid(10_i64.pow(decimals)), count.rem_euclid(10_i64.pow(decimals)));
    let whole = Field::TimestampMillis(seconds.saturating_mul(1_000)).to_string();
    let whole = whole.split_once('.').map_or(whole.as_str(), |(whole, _)| whole);
    let (whole, zone) = match origin {
        Origin::Epoch { is_utc: true } => (whole, " +00:00"),
        Origin::Epoch { is_utc: false } => (whole, ""),
        Origin::Midnight => (whole.split_once(' ').map_or(whole, |(_, time)| time), ""),
    };
    format!("{whole}.{rest:0width$}{zone}", width = decimals as usize)
}

fn key_of(key: Field) -> String {
    match value_of(key, &Shape::Plain) {
        Value::String(text) => text,
        other => other.to_string(),
    }
}

/// What is no number to JSON is nothing.
fn number(value: f64) -> Value {
    Number::from_f64(value).map_or(Value::Null, Value::Number)
}
