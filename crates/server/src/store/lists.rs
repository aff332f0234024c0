//! Lists for people: the newest first, or in order of arrival, a few on a page, and no more than so many looked through for one.
//!
//! A search finds text in metadata. The database looks for it as it may stand in JSON, without reading the JSON; what is asked
//! of one key is then looked at once more.
//!
//! Lists for people are bounded. A page of the newest rows (`crates/server/src/store/lists.rs`, with the statements in
//! `requests/listing.rs`, `batches/listing.rs`, `ledger/entries.rs`, `ledger/payments.rs` and `outbox/reads.rs`) examines a fixed
//! number of rows and returns where to continue. A search compares bytes of metadata, in the three usual spellings of JSON, so the
//! database parses nothing.

use overnight_domain::json::{Json, Kind, quote};

use crate::store::StoreError;
use crate::store::database::{Row, Statement, Value};
use crate::store::read_queue::LongReaders;

/// Rows of a page of requests or batches.
pub const PAGE_ROWS: usize = 50;

/// How many rows are looked through for a page at most, but of batches.
pub(in crate::store) const LOOKED_MAX: u32 = 20_000;

/// Rows that one read goes through: what waits for its turn waits no longer.
const LOOKED_AT_ONCE: u32 = 1_000;

/// How often the database is asked for one page: what it finds may not be what was looked for.
const ASKED_MAX: usize = 20;

/// A page of a list. Places are row numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListPage<T> {
    /// The rows, in the order of the list.
    pub rows: Vec<T>,
    /// Behind which the next page begins; `None` where there is none, or nobody knows.
    pub next: Option<i64>,
    /// Behind which to look on, where so much was looked through that the page was ended before it was full.
    pub looked_through: Option<i64>,
}

impl<T> ListPage<T> {
    /// Behind which the list goes on, whyever the page ended there; `None` at its end.
    pub fn rest(&self) -> Option<i64> {
        self.next.or(self.looked_through)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::store) enum Order {
    /// The newest first.
    NewestFirst,
    /// In order of arrival.
    OldestFirst,
}

impl Order {
    /// The numbers before the first row and behind the last one.
    const fn ends(self) -> (i64, i64) {
        match self {
            Self::NewestFirst => (i64::MAX, i64::MIN),
            Self::OldestFirst => (i64::MIN, i64::MAX),
        }
    }
}

pub(in crate::store) struct Question<F, S> {
    pub(in crate::store) order: Order,
    /// The row before the first one of the page.
    pub(in crate::store) before: Option<i64>,
    /// How many rows the page has at most.
    pub(in crate::store) rows_max: usize,
    /// How many rows are looked through at most.
    pub(in crate::store) looked_max: u32,
    /// Asks for the last row of so many behind one, in the column `seq`, where there are so many.
    pub(in crate::store) floor: F,
    /// Asks for so many rows behind one, up to another one in the order of the list. Each has its number in the column `seq` and, where a text is
    /// searched for, that in `metadata`.
    pub(in crate::store) rows: S,
}

/// A page of a list, whose rows `read` reads. Between two reads others have their turn.
pub(in crate::store) async fn page<T>(
    readers: &LongReaders<'_>,
    search: Option<&Search>,
    question: Question<impl Fn(i64, u32) -> Statement, impl Fn(i64, i64, usize) -> Statement>,
    read: fn(&Row) -> Result<T, StoreError>,
) -> Result<ListPage<T>, StoreError> {
    let rows_max = question.rows_max;
    // One more tells whether there is a next page.
    let wanted = rows_max.saturating_add(1);
    let (mut rows, mut last_on_page) = (Vec::new(), None);
    let (start, end) = question.order.ends();
    let mut behind = question.before.unwrap_or(start);
    let (mut looked, mut asked) = (0, 0);
    while looked < question.looked_max && asked < ASKED_MAX {
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

/// How the same text may stand in JSON.
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
    /// Metadata that hold `text`; or, where it is `key=value`, that have such a key with this string, number, `true` or
    /// `false`. Upper and lower case differ.
    pub fn new(text: &str) -> Self {
        let pair = text.split_once('=').filter(|(key, _)| !key.is_empty());
        let pair = pair.map(|(key, value)| Pair { key: key.to_owned(), value: value.to_owned() });
        Self { text: spellings(text), pair }
    }

    /// Whether these metadata, which the database found, hold it.
    fn holds(&self, metadata: Option<&[u8]>) -> bool {
        let Some(metadata) = metadata else { return false };
        self.pair
            .as_ref()
            .is_none_or(|pair| pair.is_in(metadata) || self.text.iter().any(|text| contains(metadata, text)))
    }
}

/// Adds the values of the condition of a list: whether anything is looked for; the text as it may stand; and the key and the
/// value of a pair, all of them each as they may stand.
pub(in crate::store) fn bind_search(search: Option<&Search>, query: Statement) -> Statement {
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

/// As it is, as it is escaped in JSON, and as those escape it who write no letter beyond ASCII.
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
