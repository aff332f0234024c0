//! The order in which the requests of a batch ended. A place is the number of requests that had ended with that one. The group that ends
//! requests counts them under the lock of their batch's row ([`crate::effects`]) and notes them in the same transaction, so places follow
//! the order of commits, and a reader at a place misses no earlier one, on any node.

use std::collections::{BTreeMap, HashSet};

use bytes::Bytes;
use overnight_domain::ids::RequestId;
use overnight_domain::records::RequestRecord;
use overnight_domain::scheduler::AccountKey;

use crate::database::{Row, Tx, Value, statements};
use crate::effects::NewEnds;
use crate::requests::beside::fetch_beside;
use crate::requests::records::{RECORDS_AT, find_record_at, read_record_in};
use crate::{Store, StoreError};

/// Records per page; each follower holds a page.
const RECORDS: usize = 64;

/// Rows per read when searching for a place.
const ROWS_LOOKED_MAX: i64 = 256;

/// Bytes of large bodies after which a page ends.
const LARGE_BYTES: usize = 1 << 20;

statements! {
    SO_FAR = "SELECT completed + failed + cancelled AS ended, deleted,
               registered + in_progress + completed + failed + cancelled AS total FROM batches WHERE seq = ?";
    LOCK = {
        sqlite: "SELECT completed + failed + cancelled AS ended FROM batches WHERE seq = ?",
        postgres: "SELECT completed + failed + cancelled AS ended FROM batches WHERE seq = ? FOR UPDATE",
    };
    AFTER = "SELECT ended, requests FROM batch_ends WHERE batch = ? AND ended > ? ORDER BY ended LIMIT ?";
    BEFORE = "SELECT ended, requests FROM batch_ends WHERE batch = ? AND ended < ? ORDER BY ended DESC LIMIT ?";
    FIND_OF_BATCH = "SELECT rs.seq, rs.state >= 3 /* ended */ AS has_ended FROM requests r JOIN request_states rs ON rs.seq = r.seq
        WHERE r.id = ? AND rs.account + 0 = ? AND rs.batch + 0 = ?";
    ENDED_OF_BATCH = "SELECT seq, ended_at FROM request_states WHERE batch = ? AND batch IS NOT NULL AND state >= 3 /* ended */";
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EndedSoFar {
    pub ended: i64,
    pub is_over: bool,
    is_deleted: bool,
}

impl EndedSoFar {
    /// The same at an earlier time, when at most `ended` had ended.
    #[must_use]
    pub fn up_to(self, ended: i64) -> Self {
        Self { ended: self.ended.min(ended), ..self }
    }
}

/// Ended requests of a batch, in the order of their ends.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EndedPage {
    /// Each with its place; deleted ones are left out.
    pub rows: Vec<(i64, RequestRecord)>,
    /// The place after which the next page continues.
    pub next: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlaceOfEnd {
    /// How many requests of the batch had ended with it.
    At(i64),
    NotEnded,
    /// The batch has no such request, or it was deleted.
    Unknown,
}

/// How far a batch has come, by row number; a deleted batch is at its end.
pub async fn ended_so_far(store: &Store, batch: i64) -> Result<EndedSoFar, StoreError> {
    let Some(row) = store.readers().fetch_optional(SO_FAR.bind(batch)).await? else {
        return Ok(EndedSoFar { ended: 0, is_over: true, is_deleted: true });
    };
    let (ended, total): (i64, i64) = (row.get("ended")?, row.get("total")?);
    Ok(EndedSoFar { ended, is_over: ended == total, is_deleted: row.get::<i64>("deleted")? >= total })
}

/// Requests after the place `after`, up to `so_far`. Large bodies in the object store are read side by side, bodies in the database one by
/// one.
pub async fn page_ended(
    store: &Store,
    account: AccountKey,
    batch: i64,
    after: i64,
    so_far: EndedSoFar,
) -> Result<EndedPage, StoreError> {
    if after >= so_far.ended || so_far.is_deleted {
        return Ok(EndedPage { rows: Vec::new(), next: so_far.ended.max(after) });
    }
    let mut seqs = read_after(store, account, batch, after).await?;
    if seqs.is_empty() {
        fill(store, account, batch).await?;
        seqs = read_after(store, account, batch, after).await?;
    }
    if seqs.is_empty() {
        return Err(StoreError::Damaged("the order in which a batch's requests ended"));
    }
    // Later ends belong to another page.
    seqs.truncate(usize::try_from(so_far.ended - after).unwrap_or(usize::MAX));
    read_records(store, account, after, &seqs).await
}

/// Row numbers after `after`, in order; empty if the next place is free.
async fn read_after(
    store: &Store,
    account: AccountKey,
    batch: i64,
    after: i64,
) -> Result<Vec<i64>, StoreError> {
    let query = AFTER.bind(batch).bind(after).bind(RECORDS as i64);
    let mut seqs = Vec::with_capacity(RECORDS);
    for row in store.long_readers(account).fetch_all(query).await? {
        let (first, requests) = read_row(&row)?;
        let next = after + seqs.len() as i64;
        if first > next {
            break;
        }
        seqs.extend(requests.skip(usize::try_from(next - first).unwrap_or(usize::MAX)));
        if seqs.len() >= RECORDS {
            break;
        }
    }
    seqs.truncate(RECORDS);
    Ok(seqs)
}

/// The place before the first request of a row, and its requests.
fn read_row(row: &Row) -> Result<(i64, impl Iterator<Item = i64> + use<>), StoreError> {
    let requests = row.share("requests")?.unwrap_or_default();
    let first = row.get::<i64>("ended")? - (requests.len() / 8) as i64;
    let count = requests.len() / 8;
    let seq = move |place: usize| {
        let bytes = requests.get(8 * place..8 * place + 8).and_then(|bytes| bytes.try_into().ok());
        i64::from_be_bytes(bytes.unwrap_or_default())
    };
    Ok((first, (0..count).map(seq)))
}

/// As many records as fit in a page.
async fn read_records(
    store: &Store,
    account: AccountKey,
    after: i64,
    seqs: &[i64],
) -> Result<EndedPage, StoreError> {
    let readers = store.long_readers(account);
    let rows =
        readers.fetch_all(RECORDS_AT.over([], seqs.iter().copied().map(Value::from).collect())).await?;
    let found = rows.iter().map(|row| Ok((row.get("seq")?, row)));
    let found: BTreeMap<i64, &Row> = found.collect::<Result<_, StoreError>>()?;
    let in_order = seqs.iter().filter_map(|seq| found.get(seq).copied());
    let mut beside = fetch_beside(store, in_order, LARGE_BYTES).await?;
    let (mut page, mut large_bytes) = (EndedPage { rows: Vec::with_capacity(found.len()), next: after }, 0);
    for seq in seqs {
        let record = match found.get(seq) {
            None => None,
            Some(row) => match read_record_in(row)? {
                Some(record) => Some(record),
                None if large_bytes > LARGE_BYTES => break,
                None => {
                    let record = match beside.remove(seq) {
                        None => find_record_at(store, &readers, *seq).await?,
                        fetched => fetched,
                    };
                    large_bytes += record.as_ref().map_or(0, bytes_of);
                    record
                }
            },
        };
        page.next += 1;
        page.rows.extend(record.map(|record| (page.next, record)));
    }
    Ok(page)
}

fn bytes_of(record: &RequestRecord) -> usize {
    record.body.len() + record.result.as_ref().map_or(0, Bytes::len) + record.client.heap_bytes()
}

/// Searches from the newest end; `batch` is a row number.
pub async fn find_place(
    store: &Store,
    account: AccountKey,
    batch: i64,
    id: RequestId,
) -> Result<PlaceOfEnd, StoreError> {
    let query = FIND_OF_BATCH.bind(id).bind(account).bind(batch);
    let Some(row) = store.readers().fetch_optional(query).await? else { return Ok(PlaceOfEnd::Unknown) };
    if !row.get::<bool>("has_ended")? {
        return Ok(PlaceOfEnd::NotEnded);
    }
    let seq = row.get("seq")?;
    if let Some(place) = search(store, account, batch, seq).await? {
        return Ok(PlaceOfEnd::At(place));
    }
    fill(store, account, batch).await?;
    let place = search(store, account, batch, seq).await?;
    // It may have been deleted meanwhile.
    Ok(place.map_or(PlaceOfEnd::Unknown, PlaceOfEnd::At))
}

async fn search(store: &Store, account: AccountKey, batch: i64, seq: i64) -> Result<Option<i64>, StoreError> {
    let mut before = i64::MAX;
    loop {
        let query = BEFORE.bind(batch).bind(before).bind(ROWS_LOOKED_MAX);
        let rows = store.long_readers(account).fetch_all(query).await?;
        for row in &rows {
            let (first, mut requests) = read_row(row)?;
            if let Some(place) = requests.position(|request| request == seq) {
                return Ok(Some(first + place as i64 + 1));
            }
        }
        match rows.last() {
            Some(row) if rows.len() as i64 == ROWS_LOOKED_MAX => before = row.get("ended")?,
            _ => return Ok(None),
        }
    }
}

/// Fills the free places of requests that ended before they were in the batch, and of lines cancelled before they were requests.
async fn fill(store: &Store, account: AccountKey, batch: i64) -> Result<(), StoreError> {
    let work = async move |tx: &mut Tx<'_>| {
        let rows = tx.fetch(LOCK.bind(batch)).await?;
        let Some(row) = rows.first() else { return Ok(()) };
        let ended: i64 = row.get("ended")?;
        let (mut holes, mut placed, mut place) = (Vec::new(), HashSet::new(), 0);
        for row in tx.fetch(AFTER.bind(batch).bind(0i64).bind(i64::MAX)).await? {
            let (first, requests) = read_row(&row)?;
            holes.push((place, first));
            place = row.get("ended")?;
            placed.extend(requests);
        }
        holes.push((place, ended));
        let mut missing = Vec::new();
        for row in tx.fetch(ENDED_OF_BATCH.bind(batch)).await? {
            let seq = row.get("seq")?;
            if !placed.contains(&seq) {
                missing.push((row.get("ended_at")?, seq));
            }
        }
        fill_holes(batch, &holes, missing).write(tx).await
    };
    store.transaction_of(account, work).await
}

/// Requests deleted before they had a place get the first ones.
fn fill_holes(batch: i64, holes: &[(i64, i64)], mut missing: Vec<(i64, i64)>) -> NewEnds {
    missing.sort_unstable();
    let free: i64 = holes.iter().map(|(first, end)| (end - first).max(0)).sum();
    let deleted = free - missing.len() as i64;
    let mut ends = (0..deleted).map(|_| (i64::MIN, 0)).chain(missing);
    let mut filled = NewEnds::default();
    for (first, end) in holes {
        let count = usize::try_from(end - first).unwrap_or(0);
        filled.push(batch, *end, ends.by_ref().take(count).collect());
    }
    filled
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn free_places_are_filled_in_order_of_ending_and_first_with_those_that_were_deleted() {
        let filled = fill_holes(7, &[(0, 2), (2, 2), (5, 7)], vec![(30, 3), (20, 9), (20, 4)]);
        let rows = filled.rows();
        let row = |ended: i64, seqs: [i64; 2]| {
            let seqs: Vec<u8> = seqs.iter().flat_map(|seq| seq.to_be_bytes()).collect();
            vec![Value::from(7i64), ended.into(), seqs.into()]
        };
        assert_eq!(rows, [row(2, [0, 4]), row(7, [9, 3])]);
    }
}
