//! The Arrow schema in a Parquet file. It has what Parquet lacks: time zones, durations, categories, lists of a fixed length. A copy with
//! more columns keeps it, with fields for them.
//!
//! It is a message of Arrow's IPC format, in base64: a FlatBuffer of a `Message`, whose header is a `Schema`, whose `fields` are `Field`s.
//! A FlatBuffer points forward only, so new tables before the old ones may point at them, and the old bytes need not change or be
//! understood any further.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::cells::{Column, ColumnType};

/// Precedes the length of a message.
const CONTINUATION: [u8; 4] = [0xff; 4];

/// Keeps the alignment of the old bytes.
const ALIGNMENT: usize = 8;

/// The used members of `Message`, `Schema` and `Field`, by their indices.
mod places {
    pub(super) const MESSAGE_VERSION: usize = 0;
    pub(super) const MESSAGE_HEADER_TYPE: usize = 1;
    pub(super) const MESSAGE_HEADER: usize = 2;
    pub(super) const SCHEMA_ENDIANNESS: usize = 0;
    pub(super) const SCHEMA_FIELDS: usize = 1;
    pub(super) const SCHEMA_METADATA: usize = 2;
    pub(super) const SCHEMA_FEATURES: usize = 3;
    pub(super) const FIELD_NAME: usize = 0;
    pub(super) const FIELD_TYPE: usize = 3;
    pub(super) const FIELD_CHILDREN: usize = 5;
}

/// `MessageHeader.Schema`.
const HEADER_IS_SCHEMA: u8 = 1;

/// Adds fields for these columns to a schema of `fields` fields. `None` if it is not understood.
pub(super) fn extended(note: &str, fields: usize, added: &[Column]) -> Option<String> {
    let bytes = STANDARD.decode(note).ok()?;
    // Writers before 2019 put no continuation before the length.
    let bytes = bytes.strip_prefix(&CONTINUATION).unwrap_or(&bytes);
    let length = usize::try_from(i32::from_le_bytes(*bytes.first_chunk()?)).ok()?;
    let old = bytes.get(4..)?.get(..length)?;
    let schema = Schema::read(old)?;
    if schema.fields.len() != fields {
        return None;
    }
    let mut new = schema.with(old, added)?;
    new.resize(new.len().next_multiple_of(ALIGNMENT), 0);
    let length = i32::try_from(new.len()).ok()?.to_le_bytes();
    Some(STANDARD.encode([&CONTINUATION[..], &length, &new].concat()))
}

struct Schema {
    version: i16,
    fields: Vec<usize>,
    metadata: Option<usize>,
    features: Option<usize>,
}

impl Schema {
    /// Reads a message with a schema of little-endian data.
    fn read(old: &[u8]) -> Option<Self> {
        let message = target(old, 0)?;
        if old.get(member(old, message, places::MESSAGE_HEADER_TYPE)??) != Some(&HEADER_IS_SCHEMA) {
            return None;
        }
        let version = member(old, message, places::MESSAGE_VERSION)?;
        let schema = target(old, member(old, message, places::MESSAGE_HEADER)??)?;
        let endianness = member(old, schema, places::SCHEMA_ENDIANNESS)?;
        if endianness.is_some_and(|place| read::<2>(old, place) != Some([0; 2])) {
            return None;
        }
        let vector = target(old, member(old, schema, places::SCHEMA_FIELDS)??)?;
        let count = usize::try_from(u32::from_le_bytes(read(old, vector)?)).ok()?;
        // A length beyond the end is not trusted.
        let slots = old.get(vector.checked_add(4)?..)?.get(..count.checked_mul(4)?)?;
        let first = vector + 4;
        let fields = (0..slots.len() / 4).map(|number| target(old, first + 4 * number));
        let pointed = |place| match member(old, schema, place)? {
            Some(place) => target(old, place).map(Some),
            None => Some(None),
        };
        Some(Self {
            version: version.map_or(Some(0), |place| read(old, place).map(i16::from_le_bytes))?,
            fields: fields.collect::<Option<_>>()?,
            metadata: pointed(places::SCHEMA_METADATA)?,
            features: pointed(places::SCHEMA_FEATURES)?,
        })
    }

    /// A message of the same schema with more fields, with the old bytes at its end.
    fn with(&self, old: &[u8], added: &[Column]) -> Option<Vec<u8>> {
        let mut new = Builder(vec![0; 4]);
        let message = new.table(&[
            Slot::Bytes(&self.version.to_le_bytes()),
            Slot::Bytes(&[HEADER_IS_SCHEMA]),
            Slot::Pointer,
        ])?;
        new.point(0, message.at)?;
        let pointer = |is_there| if is_there { Slot::Pointer } else { Slot::Absent };
        let schema = new.table(&[
            Slot::Absent,
            Slot::Pointer,
            pointer(self.metadata.is_some()),
            pointer(self.features.is_some()),
        ])?;
        new.point(message.member(places::MESSAGE_HEADER)?, schema.at)?;
        let vector = new.vector(self.fields.len() + added.len())?;
        new.point(schema.member(places::SCHEMA_FIELDS)?, vector)?;
        let slot = |number: usize| vector + 4 + 4 * number;
        for (number, column) in added.iter().enumerate() {
            let field = new.field(column)?;
            new.point(slot(self.fields.len() + number), field)?;
        }
        new.align();
        let base = new.0.len();
        new.0.extend_from_slice(old);
        for (number, field) in self.fields.iter().enumerate() {
            new.point(slot(number), base + field)?;
        }
        for (place, of) in
            [(places::SCHEMA_METADATA, self.metadata), (places::SCHEMA_FEATURES, self.features)]
        {
            if let Some(of) = of {
                new.point(schema.member(place)?, base + of)?;
            }
        }
        Some(new.0)
    }
}

fn read<const N: usize>(bytes: &[u8], place: usize) -> Option<[u8; N]> {
    bytes.get(place..)?.first_chunk().copied()
}

fn target(bytes: &[u8], place: usize) -> Option<usize> {
    let by = usize::try_from(u32::from_le_bytes(read(bytes, place)?)).ok()?;
    place.checked_add(by).filter(|place| *place < bytes.len())
}

/// The place of a table's member; `Some(None)` if the table lacks it.
fn member(bytes: &[u8], table: usize, number: usize) -> Option<Option<usize>> {
    let back = isize::try_from(i32::from_le_bytes(read(bytes, table)?)).ok()?;
    let members = table.checked_add_signed(back.checked_neg()?)?;
    let length = usize::from(u16::from_le_bytes(read(bytes, members)?));
    let entry = 4 + 2 * number;
    if entry + 2 > length {
        return Some(None);
    }
    let by = usize::from(u16::from_le_bytes(read(bytes, members.checked_add(entry)?)?));
    Some((by > 0).then_some(table + by))
}

enum Slot<'a> {
    Absent,
    /// Little-endian bytes.
    Bytes(&'a [u8]),
    /// A pointer to something later.
    Pointer,
}

/// A table, and the places of its members.
struct Built {
    at: usize,
    members: Vec<Option<usize>>,
}

impl Built {
    fn member(&self, number: usize) -> Option<usize> {
        self.members.get(number).copied().flatten()
    }
}

struct Builder(Vec<u8>);

impl Builder {
    fn align(&mut self) {
        self.0.resize(self.0.len().next_multiple_of(ALIGNMENT), 0);
    }

    /// Builds a table after its vtable. Each member has four bytes, which aligns all types that are used here.
    fn table(&mut self, slots: &[Slot<'_>]) -> Option<Built> {
        self.align();
        let members = self.0.len();
        let length = 4 + 2 * slots.len();
        let at = (members + length).next_multiple_of(ALIGNMENT);
        let mut table = Vec::from(i32::try_from(at - members).ok()?.to_le_bytes());
        let mut list = Vec::new();
        let mut built = Built { at, members: Vec::with_capacity(slots.len()) };
        for slot in slots {
            let (by, bytes): (usize, &[u8]) = match slot {
                Slot::Absent => (0, &[]),
                Slot::Bytes(bytes) => (table.len(), bytes),
                Slot::Pointer => (table.len(), &[0; 4]),
            };
            built.members.push((by > 0).then_some(at + by));
            list.extend(u16::try_from(by).ok()?.to_le_bytes());
            table.extend_from_slice(bytes);
            table.resize(table.len().next_multiple_of(4), 0);
        }
        self.0.extend(u16::try_from(length).ok()?.to_le_bytes());
        self.0.extend(u16::try_from(table.len()).ok()?.to_le_bytes());
        self.0.extend(list);
        self.align();
        self.0.extend(table);
        Some(built)
    }

    /// Builds a vector of pointers that are not set yet.
    fn vector(&mut self, count: usize) -> Option<usize> {
        self.align();
        let at = self.0.len();
        self.0.extend(u32::try_from(count).ok()?.to_le_bytes());
        self.0.resize(self.0.len() + 4 * count, 0);
        Some(at)
    }

    fn string(&mut self, text: &str) -> Option<usize> {
        self.align();
        let at = self.0.len();
        self.0.extend(u32::try_from(text.len()).ok()?.to_le_bytes());
        self.0.extend_from_slice(text.as_bytes());
        self.0.push(0);
        Some(at)
    }

    /// Sets the pointer at `from` to a later place.
    fn point(&mut self, from: usize, to: usize) -> Option<()> {
        let by = u32::try_from(to.checked_sub(from)?).ok()?;
        self.0.get_mut(from..from + 4)?.copy_from_slice(&by.to_le_bytes());
        Some(())
    }

    /// Builds the `Field` of a column: a name, a type with its details in a table, and no children.
    fn field(&mut self, column: &Column) -> Option<usize> {
        // `Type.Bool`, `Int` (64 bits, signed), `FloatingPoint` (of double precision) and `Utf8`.
        let (kind, members): (u8, Vec<Slot<'_>>) = match column.holds {
            Some(ColumnType::Boolean) => (6, Vec::new()),
            Some(ColumnType::Integer) => (2, vec![Slot::Bytes(&[64, 0, 0, 0]), Slot::Bytes(&[1])]),
            Some(ColumnType::Number) => (3, vec![Slot::Bytes(&[2, 0])]),
            Some(ColumnType::Text | ColumnType::Json) | None => (5, Vec::new()),
        };
        let field = self.table(&[
            Slot::Pointer,
            Slot::Bytes(&[1]),
            Slot::Bytes(&[kind]),
            Slot::Pointer,
            Slot::Absent,
            Slot::Pointer,
        ])?;
        let name = self.string(&column.name)?;
        self.point(field.member(places::FIELD_NAME)?, name)?;
        let of = self.table(&members)?.at;
        self.point(field.member(places::FIELD_TYPE)?, of)?;
        let children = self.vector(0)?;
        self.point(field.member(places::FIELD_CHILDREN)?, children)?;
        Some(field.at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By Arrow's C++ library: a 64-bit integer `n`, a duration `d`, and a time `when` in Europe/Berlin.
    const NOTE: &str = "//////gAAAAQAAAAAAAKAAwABgAFAAgACgAAAAABBAAMAAAACAAIAAAABAAIAAAABAAAAAMAAACUAAAAVAAAAAQAAACI////AAABChAAAAAgAAAABAAAAAAAAAAEAAAAd2hlbgAAAAAIAAwABgAIAAgAAAAAAAIABAAAAA0AAABFdXJvcGUvQmVybGluAAAA1P///wAAARIQAAAAGAAAAAQAAAAAAAAAAQAAAGQABgAIAAYABgAAAAAAAgAQABQACAAGAAcADAAAABAAEAAAAAAAAQIQAAAAHAAAAAQAAAAAAAAAAQAAAG4AAAAIAAwACAAHAAgAAAAAAAABQAAAAA==";

    /// The index of `Field`'s type of the type.
    const FIELD_TYPE_TYPE: usize = 2;

    fn message(note: &str) -> Vec<u8> {
        STANDARD.decode(note).unwrap()[8..].to_vec()
    }

    fn fields(message: &[u8]) -> Vec<(String, u8)> {
        let schema = Schema::read(message).unwrap();
        let field = |place: &usize| {
            let name =
                target(message, member(message, *place, places::FIELD_NAME).unwrap().unwrap()).unwrap();
            let length = u32::from_le_bytes(read(message, name).unwrap()) as usize;
            let name = String::from_utf8(message[name + 4..name + 4 + length].to_vec()).unwrap();
            (name, message[member(message, *place, FIELD_TYPE_TYPE).unwrap().unwrap()])
        };
        schema.fields.iter().map(field).collect()
    }

    fn added() -> Vec<Column> {
        let kinds = [ColumnType::Text, ColumnType::Integer, ColumnType::Number, ColumnType::Boolean];
        ["answer", "tokens", "cost", "is_right"]
            .into_iter()
            .zip(kinds)
            .map(|(name, of)| Column::new(name, of))
            .collect()
    }

    #[test]
    fn fields_are_added_and_those_of_before_stay() {
        let extended_once = extended(NOTE, 3, &added()).unwrap();
        let expected =
            [("n", 2), ("d", 18), ("when", 10), ("answer", 5), ("tokens", 2), ("cost", 3), ("is_right", 6)];
        let expected: Vec<(String, u8)> =
            expected.iter().map(|(name, kind)| ((*name).to_owned(), *kind)).collect();
        assert_eq!(fields(&message(&extended_once)), expected);
        // Its own output can be read.
        let again = extended(&extended_once, 7, &[Column::new("more", ColumnType::Json)]).unwrap();
        let found = fields(&message(&again));
        assert_eq!((&found[..7], &found[7]), (&expected[..], &("more".to_owned(), 5)));
    }

    #[test]
    fn what_is_not_understood_is_not_kept() {
        assert_eq!(extended(NOTE, 2, &added()), None);
        assert_eq!(extended("no base64", 3, &added()), None);
        let bytes = STANDARD.decode(NOTE).unwrap();
        for length in 0..bytes.len() - 64 {
            assert_eq!(extended(&STANDARD.encode(&bytes[..length]), 3, &added()), None);
        }
        // A broken schema is refused or reads differently; it never panics.
        for place in 0..bytes.len() {
            let mut broken = bytes.clone();
            broken[place] ^= 0xff;
            let _ = extended(&STANDARD.encode(&broken), 3, &added());
        }
    }
}
