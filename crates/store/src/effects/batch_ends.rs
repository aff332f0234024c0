//! Writes the order in which the requests of a batch ended; `batches/ends.rs` reads it.
//!
//! The order is that of commits. A group that ends requests of a batch counts them under the lock of the batch's row. That count gives the
//! new places, and the same transaction notes row numbers under it in `batch_ends`, one row per batch and group. So no place is visible
//! before all earlier ones are, on either database and whichever nodes write: a reader at a place needs no horizon. Numbers of results
//! would need one, because they are drawn before the lock and committed in any order. A place without a row belongs to requests that ended
//! before they were in the batch, or to lines that were cancelled before they were requests; a reader that reaches it fills it under the
//! same lock. The rows are deleted with the last request of the batch.

use overnight_base::planted_bugs::Bug;

use crate::StoreError;
use crate::database::{Tx, Value, statements};

/// Requests of a row, at most.
const REQUESTS_PER_ROW: usize = 512;

statements! {
    INSERT over [Integer, Integer, Bytes] = {
        sqlite: "INSERT INTO batch_ends (batch, ended, requests) VALUES (?1, ?2, ?3)",
        postgres: "INSERT INTO batch_ends (batch, ended, requests)
            SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bytea[]) AS v(batch, ended, requests)",
    };
}

#[derive(Default)]
pub(crate) struct NewEnds(Vec<Value>);

impl NewEnds {
    /// `ended` counts these requests; each has the time of its end and its row number.
    pub(crate) fn push(&mut self, batch: i64, ended: i64, mut requests: Vec<(i64, i64)>) {
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

    pub(crate) async fn write(self, tx: &mut Tx<'_>) -> Result<(), StoreError> {
        tx.execute(INSERT.over([], self.0)).await.map(drop)
    }
}

#[cfg(test)]
impl NewEnds {
    pub(crate) fn rows(&self) -> Vec<Vec<Value>> {
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
