//! The segments of a shared queue partition: rows that say which stretch of its order each engine replica sweeps, and how far it is. A scan
//! takes the next run of its replica's segment. A replica without one, or with an empty one, takes half of the longest rest, cut where
//! neighbours share least; see `overnight_domain::scheduler::weakest_link`.
//!
//! Segments need not be given up. One whose node is gone, or that was not scanned for a while, is *left*: a neighbour that reaches it
//! absorbs it, or a replica takes it whole. So every request is passed by some replica.

mod rows;

use overnight_domain::scheduler::{
    Candidate, QueuePartition, ReplicaKey, SURVEY_MAX, SweptSegment, weakest_link,
};

use self::rows::{Owner, Place, Rest, Segment, Segments, place_of};
use crate::database::Tx;
use crate::{Store, StoreError};

#[cfg(test)]
pub(crate) use self::rows::{RESTS, STATEMENTS};

/// The replica's next waiting requests that may be tried by `now`, up to `limit`; its sweep continues after them. Empty if none wait in the
/// partition.
pub(crate) async fn take(
    store: &Store,
    partition: QueuePartition,
    replica: ReplicaKey,
    limit: u32,
    now: i64,
) -> Result<Vec<Candidate>, StoreError> {
    let owner = Owner { node: store.node().map_or(0, |node| node.key), replica: replica.0.into() };
    let scan = SegmentScan { segments: Segments { partition, now }, owner, limit };
    let run = store.transaction(async move |tx| scan.go_on(tx).await).await?;
    if !run.is_empty() {
        return Ok(run);
    }
    store.transaction(async move |tx| scan.begin(tx).await).await
}

/// Segments of the partition, swept by replicas of all nodes.
pub(crate) async fn count(store: &Store, partition: QueuePartition, now: i64) -> Result<usize, StoreError> {
    let count: i64 =
        store.readers().fetch_one(Segments { partition, now }.count_swept()).await?.get("count")?;
    Ok(usize::try_from(count).unwrap_or(0))
}

/// In order.
pub(crate) async fn swept(store: &Store, partition: QueuePartition) -> Result<Vec<SweptSegment>, StoreError> {
    let rows = store.readers().fetch_all(Segments { partition, now: 0 }.list()).await?;
    rows.iter().map(rows::read_swept).collect()
}

#[derive(Debug, Clone, Copy)]
struct SegmentScan {
    segments: Segments,
    owner: Owner,
    limit: u32,
}

impl SegmentScan {
    /// The next run of the replica's own segment, if any requests wait there.
    async fn go_on(self, tx: &mut Tx<'_>) -> Result<Vec<Candidate>, StoreError> {
        self.segments.commit_without_waiting(tx).await?;
        match self.segments.of(tx, self.owner).await? {
            Some(segment) => self.scan(tx, segment).await,
            None => Ok(Vec::new()),
        }
    }

    /// Takes a run from the segment's cursor. At its end it absorbs a left neighbour, and begins again.
    async fn scan(self, tx: &mut Tx<'_>, segment: Segment) -> Result<Vec<Candidate>, StoreError> {
        let Segment { mut begin, cursor } = segment;
        let until = self.segments.end_of(tx, &begin).await?;
        let mut run = self.segments.scan(tx, &cursor, until.as_ref(), self.limit).await?;
        if run.is_empty() && self.segments.absorb_next(tx, &begin).await? {
            let until = self.segments.end_of(tx, &begin).await?;
            run = self.segments.scan(tx, &cursor, until.as_ref(), self.limit).await?;
        }
        if run.is_empty() {
            begin = self.segments.absorb_previous(tx, &begin, self.owner).await?;
            run = self.segments.scan(tx, &begin, Some(&cursor), self.limit).await?;
        }
        if let Some(last) = run.last() {
            self.segments.move_cursor(tx, &begin, place_of(&last.position)).await?;
        }
        Ok(run)
    }

    /// Gives the replica a segment, and takes its first run.
    async fn begin(self, tx: &mut Tx<'_>) -> Result<Vec<Candidate>, StoreError> {
        self.segments.commit_without_waiting(tx).await?;
        self.segments.begin(tx, self.owner).await?;
        let rests = self.segments.rests(tx, i64::from(SURVEY_MAX)).await?;
        let own = rests.iter().find(|it| it.owner == self.owner);
        if let Some(own) = own.filter(|own| own.ahead > 0) {
            return self.share(tx, own).await;
        }
        // Requests that its own cursor has passed are mostly in flight to this replica.
        let others = rests.iter().filter(|it| it.owner != self.owner && it.count() > 0);
        let longest = others.max_by_key(|it| it.count());
        let Some(longest) = longest.or(own.filter(|own| own.count() > 0)) else { return Ok(Vec::new()) };
        for rest in rests.iter().filter(|it| it.segment.begin != longest.segment.begin) {
            if rest.count() == 0 || rest.owner == self.owner {
                self.segments.give_up(tx, rest).await?;
            }
        }
        self.share(tx, longest).await
    }

    /// Takes over a rest: whole if it is left or fits in one run, else its second half.
    async fn share(self, tx: &mut Tx<'_>, rest: &Rest) -> Result<Vec<Candidate>, StoreError> {
        let Some(mut segment) = self.segments.current(tx, &rest.segment.begin).await? else {
            return Ok(Vec::new());
        };
        if rest.ahead == 0 {
            self.segments.move_cursor(tx, &segment.begin, segment.begin.clone()).await?;
            segment.cursor = segment.begin.clone();
        }
        let is_whole = rest.is_left || rest.owner == self.owner || rest.count() <= i64::from(self.limit);
        let cut = if is_whole { None } else { self.cut(tx, &segment).await? };
        match cut {
            Some(begin) => {
                self.segments.insert(tx, &begin, self.owner).await?;
                self.scan(tx, Segment { cursor: begin.clone(), begin }).await
            }
            None => {
                self.segments.take_over(tx, &segment.begin, self.owner).await?;
                self.scan(tx, segment).await
            }
        }
    }

    /// `None` if fewer than two requests wait ahead of its cursor.
    async fn cut(self, tx: &mut Tx<'_>, segment: &Segment) -> Result<Option<Place>, StoreError> {
        let until = self.segments.end_of(tx, &segment.begin).await?;
        let seen = self.segments.scan(tx, &segment.cursor, until.as_ref(), SURVEY_MAX).await?;
        let place = weakest_link(&seen, seen.len() < SURVEY_MAX as usize);
        Ok(place.map(|place| place_of(&seen[place - 1].position)))
    }
}
