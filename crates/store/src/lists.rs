//! Lists for people: newest first or in order of arrival, a few on a page. A page examines a bounded number of rows and returns where to
//! continue. The statements are in `requests/listing.rs`, `batches/listing.rs`, `ledger/entries.rs`, `ledger/payments.rs` and
//! `outbox/reads.rs`.
//!
//! A search finds text in metadata: the database compares bytes in the three usual spellings of JSON, and parses none; matches of a search
//! for one key are then checked again.

use overnight_domain::json::{Json, Kind, quote};

use crate::StoreError;
use crate::database::{Row, Statement, Value};
use crate::direction::Direction;
use crate::read_queue::LongReaders;
use crate::request_blocks::{self, Wanted};

/// Of requests or batches.
pub const PAGE_ROWS: usize = 50;

/// Rows examined for a page, except of batches.
pub(crate) const LOOKED_MAX: u32 = 20_000;

/// Rows per read, so that others do not wait longer for their turn.
const LOOKED_AT_ONCE: u32 = 1_000;

/// Reads per page: rows that the database finds may not match.
const ASKED_MAX: usize = 20;

/// Places are row numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListPage<T> {
    pub rows: Vec<T>,
    /// Where the next page begins; `None` at the end, or if unknown.
    pub next: Option<i64>,
    /// Where to continue if the page ended early because enough rows were examined.
    pub looked_through: Option<i64>,
}

impl<T> ListPage<T> {
    /// Where the list continues, however the page ended; `None` at its end.
    pub fn rest(&self) -> Option<i64> {
        self.next.or(self.looked_through)
    }
}

pub(crate) struct Question<F, S> {
    pub(crate) direction: Direction,
    /// Of requests; `None` for a list of something else.
    pub(crate) wanted: Option<Wanted>,
    /// The row before the first one of the page.
    pub(crate) before: Option<i64>,
    pub(crate) rows_max: usize,
    pub(crate) looked_max: u32,
    /// Asks for the last of so many rows after a row, as `seq`, if there are so many.
    pub(crate) floor: F,
    /// Asks for rows after a row, up to another in the order of the list. Each has its number as `seq` and, for a search, `metadata`.
    pub(crate) rows: S,
}

/// Others have their turn between two reads.
pub(crate) async fn page<T>(
    readers: &LongReaders<'_>,
    search: Option<&Search>,
    question: Question<impl Fn(i64, u32) -> Statement, impl Fn(i64, i64, usize) -> Statement>,
    read: fn(&Row) -> Result<T, StoreError>,
) -> Result<ListPage<T>, StoreError> {
    let rows_max = question.rows_max;
    // One more row shows whether there is a next page.
    let wanted = rows_max.saturating_add(1);
    let (mut rows, mut last_on_page) = (Vec::new(), None);
    let (start, end) = question.direction.ends();
    let mut behind = question.before.unwrap_or(start);
    let (mut looked, mut asked) = (0, 0);
    while looked < question.looked_max && asked < ASKED_MAX {
        if let Some(wanted) = &question.wanted {
            match request_blocks::skip(readers, question.direction, wanted, behind).await? {
                Some(next) => behind = next,
                None => return Ok(ListPage { rows, next: None, looked_through: None }),
            }
        }
        let at_once = LOOKED_AT_ONCE.min(question.looked_max - looked);
        let floor = readers.fetch_optional((question.floor)(behind, at_once)).await?;
        let floor: Option<i64> = floor.map(|row| row.get("seq")).transpose()?;
        loop {
            asked += 1;
            let rows_asked = (question.rows)(behind, floor.unwrap_or(end), wanted);
            let found = readers.fetch_all(rows_asked).await?;
            for row in &found {
                behind = row.get("seq")?;
                if !search.is_none_or(|search| row.get("metadata").is_ok_and(|text| search.holds(text))) {
                    continue;
                }
                if rows.len() == rows_max {
                    return Ok(ListPage { rows, next: last_on_page, looked_through: None });
                }
                last_on_page = Some(behind);
                rows.push(read(row)?);
            }
            if found.len() < wanted {
                break;
            }
            if asked >= ASKED_MAX {
                return Ok(ListPage { rows, next: None, looked_through: Some(behind) });
            }
        }
        let Some(floor) = floor else { return Ok(ListPage { rows, next: None, looked_through: None }) };
        behind = floor;
        looked += at_once;
    }
    Ok(ListPage { rows, next: None, looked_through: Some(behind) })
}

/// Spellings of one text in JSON.
type Spellings = [Vec<u8>; 3];

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Search {
    text: Spellings,
    pair: Option<Pair>,
}

/// A key of the outermost object, and its value.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Pair {
    key: String,
    value: String,
}

impl Search {
    /// Finds `text` in metadata, or, as `key=value`, such a key with this string, number, `true` or `false`. Case matters.
    pub fn new(text: &str) -> Self {
        let pair = text.split_once('=').filter(|(key, _)| !key.is_empty());
        let pair = pair.map(|(key, value)| Pair { key: key.to_owned(), value: value.to_owned() });
        Self { text: spellings(text), pair }
    }

    /// Checks metadata that the database found.
    fn holds(&self, metadata: Option<&[u8]>) -> bool {
        let Some(metadata) = metadata else { return false };
        self.pair
            .as_ref()
            .is_none_or(|pair| pair.is_in(metadata) || self.text.iter().any(|text| contains(metadata, text)))
    }
}

/// Binds the values of a list's condition: whether there is a search; the spellings of the text; and those of a pair's key and value.
pub(crate) fn bind_search(search: Option<&Search>, query: Statement) -> Statement {
    const NOTHING: [Option<Vec<u8>>; 3] = [None, None, None];
    let some = |spellings: Spellings| spellings.map(Some);
    let pair = search.and_then(|search| search.pair.as_ref());
    let text = search.map_or(NOTHING, |search| some(search.text.clone()));
    let key = pair.map_or(NOTHING, |pair| some(spellings(&pair.key)));
    let value = pair.map_or(NOTHING, |pair| some(spellings(&pair.value)));
    let query = query.bind(search.is_some());
    [text, key, value].into_iter().flatten().map(Value::from).fold(query, Statement::bind)
}

impl Pair {
    fn is_in(&self, metadata: &[u8]) -> bool {
        let Ok(metadata) = Json::from_stored(metadata) else { return false };
        let mut members = metadata.members().into_iter().flatten();
        members.any(|member| member.key() == self.key && self.is_value(member.value))
    }

    fn is_value(&self, value: Json<'_>) -> bool {
        match value.kind() {
            Kind::String => value.decode_string().is_some_and(|text| text == self.value),
            Kind::Number | Kind::Boolean => value.as_str() == self.value,
            Kind::Null | Kind::Array | Kind::Object => false,
        }
    }
}

/// As it is, escaped as JSON requires, and with all non-ASCII letters escaped.
fn spellings(text: &str) -> Spellings {
    let quoted = quote(text);
    let escaped = &quoted[1..quoted.len() - 1];
    let mut ascii = String::with_capacity(escaped.len());
    for character in escaped.chars() {
        if character.is_ascii() {
            ascii.push(character);
        } else {
            let mut units = [0; 2];
            for unit in character.encode_utf16(&mut units) {
                ascii.push_str(&format!("\\u{unit:04x}"));
            }
        }
    }
    [text, escaped, &ascii].map(|text| text.as_bytes().to_vec())
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    part.is_empty() || text.windows(part.len()).any(|window| window == part)
}
