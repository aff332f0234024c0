//! The order in which the requests of a batch ended, as groups write it. `batches/ends.rs` reads it.
//!
//! The order of ends is that of commits. A group that ends requests of a batch counts them under the lock of the batch's row. How
//! many have ended by then are the places of the new ones in the order of ends, and the same transaction notes their row numbers
//! under that count in `batch_ends`, one row a batch and group (`store/effects/batch_ends.rs`). So no place is visible before all
//! earlier ones are, on either database and whichever nodes write: a reader at a place needs no horizon. Numbers of results would
//! need one, because they are drawn before the lock and committed in any order. A place that has no row belongs to requests which
//! ended before they were in the batch, or to lines which were cancelled before they were requests; whoever reads up to it fills it
//! under the same lock (`store/batches/ends.rs`). The rows go when the last request of the batch is deleted.

use overnight_base::planted_bugs::Bug;

use crate::store::StoreError;
use crate::store::database::{Tx, Value, statements};

/// Requests of a row, at most.
const REQUESTS_PER_ROW: usize = 512;

statements! {
    INSERT over [Integer, Integer, Bytes] = {
        sqlite: "INSERT INTO batch_ends (batch, ended, requests) VALUES (?1, ?2, ?3)",
        postgres: "INSERT INTO batch_ends (batch, ended, requests)
            SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bytea[]) AS v(batch, ended, requests)",
    };
}

/// Rows of the order of ends that a write adds.
#[derive(Default)]
pub(in crate::store) struct NewEnds(Vec<Value>);

impl NewEnds {
    /// So many requests of `batch` have ended with these, each with the time of its end and its row number.
    pub(in crate::store) fn push(&mut self, batch: i64, ended: i64, mut requests: Vec<(i64, i64)>) {
        if !Bug::EndsUnsorted.is_planted() {
            requests.sort_unstable();
        }
        let mut place = ended - requests.len() as i64;
        for part in requests.chunks(REQUESTS_PER_ROW) {
            place += part.len() as i64;
            let seqs: Vec<u8> = part.iter().flat_map(|(_, seq)| seq.to_be_bytes()).collect();
            self.0.extend([batch.into(), place.into(), seqs.into()]);
        }
    }

    pub(in crate::store) async fn write(self, tx: &mut Tx<'_>) -> Result<(), StoreError> {
        tx.execute(INSERT.over([], self.0)).await.map(drop)
    }
}

#[cfg(test)]
impl NewEnds {
    /// The rows as they will be written.
    pub(in crate::store) fn rows(&self) -> Vec<Vec<Value>> {
        self.0.chunks(3).map(<[Value]>::to_vec).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_list_of_ends_is_several_rows_with_the_places_of_each() {
        let mut ends = NewEnds::default();
        ends.push(1, 1_100, (0..1_000).map(|seq| (5, seq)).collect());
        let places: Vec<_> = ends.rows().iter().map(|row| row[1].clone()).collect();
        assert_eq!(places, [Value::from(612i64), 1_100i64.into()]);
    }
}
