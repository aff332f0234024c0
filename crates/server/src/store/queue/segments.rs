//! The segments of a queue partition, where nodes share it: rows that say which stretch of its order each engine replica sweeps,
//! and how far. A scan takes the next run of its replica's segment. A replica without one, or with nothing left in it, takes
//! half of the longest rest, cut where neighbours share least; see `overnight_domain::scheduler::weakest_link`.
//!
//! Nobody has to give a segment up: what a node leaves behind when it dies is taken like any other rest.

use overnight_domain::scheduler::{Candidate, Position, QueuePartition, ReplicaKey, weakest_link};
use overnight_domain::sort_key::SortKey;

use crate::store::database::{Row, Statement, Tx, statements};
use crate::store::queue::queue_scan::{KeyRange, LAST_KEY, read_candidate, scan_range};
use crate::store::{Store, StoreError};

/// Rows that are read at most to find where a segment is cut.
const SURVEY_MAX: u32 = 4_096;

statements! {
    COMMIT_WITHOUT_WAITING = { postgres: "SET LOCAL synchronous_commit = off" };
    OWN = { postgres: "SELECT begin_key, begin_seq, cursor_key, cursor_seq FROM segments
        WHERE model = ? AND account = ? AND node = ? AND replica = ? ORDER BY begin_key, begin_seq LIMIT 1 FOR UPDATE" };
    /// Where the segment behind this place begins, so this one ends there.
    NEXT = { postgres: "SELECT begin_key, begin_seq FROM segments
        WHERE model = ? AND account = ? AND (begin_key, begin_seq) > (?, ?) ORDER BY begin_key, begin_seq LIMIT 1" };
    GO_ON = { postgres: "UPDATE segments SET cursor_key = ?, cursor_seq = ?
        WHERE model = ? AND account = ? AND begin_key = ? AND begin_seq = ?" };
    /// The first segment is always there: whoever changes where segments begin locks it first.
    LOCK = { postgres: "SELECT 1 AS is_there FROM segments
        WHERE model = ? AND account = ? AND begin_key = ''::bytea FOR UPDATE" };
    /// Every segment with the requests that wait in it, before and behind its cursor, each counted up to a limit.
    RESTS = { postgres: "SELECT s.begin_key, s.begin_seq, s.cursor_key, s.cursor_seq, s.node, s.replica, ahead.count AS ahead,
            behind.count AS behind
        FROM (SELECT begin_key, begin_seq, cursor_key, cursor_seq, node, replica, model, account,
                lead(begin_key) OVER w AS until_key, lead(begin_seq) OVER w AS until_seq
            FROM segments WHERE model = ? AND account = ? WINDOW w AS (ORDER BY begin_key, begin_seq)) s
        CROSS JOIN (SELECT ?::bytea AS last_key, ?::bigint AS now, ?::bigint AS counted_max) p
        CROSS JOIN LATERAL (SELECT count(*) AS count FROM (SELECT 1 FROM queue q
            WHERE q.model = s.model AND q.account = s.account AND (q.sort_key, q.seq) > (s.cursor_key, s.cursor_seq)
              AND (q.sort_key, q.seq) <= (coalesce(s.until_key, p.last_key), coalesce(s.until_seq, 0))
              AND q.phase = 0 /* waiting */ AND q.retry_at <= p.now LIMIT p.counted_max) q) ahead
        CROSS JOIN LATERAL (SELECT count(*) AS count FROM (SELECT 1 FROM queue q
            WHERE q.model = s.model AND q.account = s.account AND (q.sort_key, q.seq) > (s.begin_key, s.begin_seq)
              AND (q.sort_key, q.seq) <= (s.cursor_key, s.cursor_seq)
              AND q.phase = 0 /* waiting */ AND q.retry_at <= p.now LIMIT p.counted_max) q) behind
        ORDER BY s.begin_key, s.begin_seq" };
    INSERT = { postgres: "INSERT INTO segments (model, account, begin_key, begin_seq, cursor_key, cursor_seq, node, replica)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING" };
    CURRENT = { postgres: "SELECT begin_key, begin_seq, cursor_key, cursor_seq FROM segments
        WHERE model = ? AND account = ? AND begin_key = ? AND begin_seq = ? FOR UPDATE" };
    TAKE_OVER = { postgres: "UPDATE segments SET node = ?, replica = ?
        WHERE model = ? AND account = ? AND begin_key = ? AND begin_seq = ?" };
    DELETE = { postgres: "DELETE FROM segments WHERE model = ? AND account = ? AND begin_key = ? AND begin_seq = ?" };
}

/// Whose segment: a replica of a node.
type Owner = (i64, i64);

/// A place in the order, as its columns have it.
type Place = (Vec<u8>, i64);

/// A segment of a partition.
#[derive(Debug, Clone)]
struct Segment {
    begin: Place,
    cursor: Place,
}

/// A segment, whose it is, and what waits in it.
#[derive(Debug)]
struct Rest {
    segment: Segment,
    owner: Owner,
    ahead: i64,
    behind: i64,
}

/// The next waiting requests of the replica's segment that may be tried by `now`, `limit` at most; its sweep goes on behind
/// them. Nothing where nothing waits in the whole partition.
pub(in crate::store) async fn take(
    store: &Store,
    partition: QueuePartition,
    replica: ReplicaKey,
    limit: u32,
    now: i64,
) -> Result<Vec<Candidate>, StoreError> {
    let owner = (store.node().map_or(0, |node| node.key), i64::from(replica.0));
    let scan = SegmentScan { partition, owner, limit, now };
    let run = store.transaction(async move |tx| scan.go_on(tx).await).await?;
    if !run.is_empty() {
        return Ok(run);
    }
    store.transaction(async move |tx| scan.begin(tx).await).await
}

/// One scan for one replica.
#[derive(Debug, Clone, Copy)]
struct SegmentScan {
    partition: QueuePartition,
    owner: Owner,
    limit: u32,
    now: i64,
}

impl SegmentScan {
    /// The next run of the replica's own segment, if it has one and anything waits there.
    async fn go_on(self, tx: &mut Tx<'_>) -> Result<Vec<Candidate>, StoreError> {
        // Where a crash sets a cursor back, a run is scanned twice: no commit needs to wait for that.
        tx.execute(COMMIT_WITHOUT_WAITING.unbound()).await?;
        let QueuePartition { model, account } = self.partition;
        let own = OWN.bind(model).bind(account).bind(self.owner.0).bind(self.owner.1);
        match tx.fetch(own).await?.first() {
            Some(row) => self.scan(tx, read_segment(row)?).await,
            None => Ok(Vec::new()),
        }
    }

    /// Takes a run of a segment from its cursor on, or else from its beginning, and moves the cursor behind it.
    async fn scan(self, tx: &mut Tx<'_>, segment: Segment) -> Result<Vec<Candidate>, StoreError> {
        let until = self.end_of(tx, &segment).await?;
        let Segment { begin, cursor } = segment;
        let mut run = self.scan_between(tx, &cursor, until.as_ref(), self.limit).await?;
        if run.is_empty() && cursor != begin {
            run = self.scan_between(tx, &begin, Some(&cursor), self.limit).await?;
        }
        if let Some(last) = run.last() {
            self.move_cursor(tx, &begin, place_of(&last.position)).await?;
        }
        Ok(run)
    }

    /// Takes the replica a segment, and the first run of it. Segments in which nothing waits become part of the one before.
    async fn begin(self, tx: &mut Tx<'_>) -> Result<Vec<Candidate>, StoreError> {
        tx.execute(COMMIT_WITHOUT_WAITING.unbound()).await?;
        let QueuePartition { model, account } = self.partition;
        let start = (Vec::new(), i64::MIN);
        self.insert(tx, &start).await?;
        tx.fetch(LOCK.bind(model).bind(account)).await?;
        let rests = RESTS
            .bind(model)
            .bind(account)
            .bind(LAST_KEY.to_vec())
            .bind(self.now)
            .bind(i64::from(SURVEY_MAX));
        let rests = tx.fetch(rests).await?.iter().map(read_rest).collect::<Result<Vec<_>, _>>()?;
        let is_empty = |it: &&Rest| it.ahead + it.behind == 0;
        let own = rests.iter().find(|it| it.owner == self.owner && !is_empty(it));
        let longest = own.or(rests.iter().max_by_key(|it| it.ahead + it.behind));
        let Some(longest) = longest.filter(|it| !is_empty(it)) else { return Ok(Vec::new()) };
        for rest in rests.iter().filter(is_empty) {
            let begin = &rest.segment.begin;
            if *begin != start {
                tx.execute(at(DELETE.bind(model).bind(account), begin)).await?;
            } else if rest.owner == self.owner {
                // The first segment stays, so its owner gives up its name alone.
                self.take_over(tx, begin, NOBODY).await?;
            }
        }
        self.share(tx, longest).await
    }

    /// Takes a rest over, whole where one run takes it all, else its second half.
    async fn share(self, tx: &mut Tx<'_>, rest: &Rest) -> Result<Vec<Candidate>, StoreError> {
        let QueuePartition { model, account } = self.partition;
        let current = tx.fetch(at(CURRENT.bind(model).bind(account), &rest.segment.begin)).await?;
        let Some(row) = current.first() else { return Ok(Vec::new()) };
        let mut segment = read_segment(row)?;
        if rest.ahead == 0 {
            self.move_cursor(tx, &segment.begin, segment.begin.clone()).await?;
            segment.cursor = segment.begin.clone();
        }
        let is_short = rest.ahead + rest.behind <= i64::from(self.limit);
        if rest.owner != self.owner && !is_short {
            let until = self.end_of(tx, &segment).await?;
            let seen = self.scan_between(tx, &segment.cursor, until.as_ref(), SURVEY_MAX).await?;
            if let Some(cut) = weakest_link(&seen, seen.len() < SURVEY_MAX as usize) {
                let begin = place_of(&seen[cut - 1].position);
                self.insert(tx, &begin).await?;
                return self.scan(tx, Segment { cursor: begin.clone(), begin }).await;
            }
        }
        self.take_over(tx, &segment.begin, self.owner).await?;
        self.scan(tx, segment).await
    }

    async fn insert(self, tx: &mut Tx<'_>, begin: &Place) -> Result<(), StoreError> {
        let QueuePartition { model, account } = self.partition;
        let insert = INSERT.bind(model).bind(account).bind(begin.0.clone()).bind(begin.1);
        let insert = insert.bind(begin.0.clone()).bind(begin.1).bind(self.owner.0).bind(self.owner.1);
        tx.execute(insert).await.map(drop)
    }

    async fn take_over(self, tx: &mut Tx<'_>, begin: &Place, owner: Owner) -> Result<(), StoreError> {
        let QueuePartition { model, account } = self.partition;
        let take_over = TAKE_OVER.bind(owner.0).bind(owner.1).bind(model).bind(account);
        tx.execute(at(take_over, begin)).await.map(drop)
    }

    async fn move_cursor(self, tx: &mut Tx<'_>, begin: &Place, cursor: Place) -> Result<(), StoreError> {
        let QueuePartition { model, account } = self.partition;
        let go_on = GO_ON.bind(cursor.0).bind(cursor.1).bind(model).bind(account);
        tx.execute(at(go_on, begin)).await.map(drop)
    }

    async fn end_of(self, tx: &mut Tx<'_>, segment: &Segment) -> Result<Option<Place>, StoreError> {
        let QueuePartition { model, account } = self.partition;
        tx.fetch(at(NEXT.bind(model).bind(account), &segment.begin))
            .await?
            .first()
            .map(|row| read_place(row, "begin_key", "begin_seq"))
            .transpose()
    }

    async fn scan_between(
        self,
        tx: &mut Tx<'_>,
        after: &Place,
        until: Option<&Place>,
        limit: u32,
    ) -> Result<Vec<Candidate>, StoreError> {
        let (after, until) = (position_at(after), until.map(position_at));
        let range = KeyRange { after: Some(&after), until: until.as_ref() };
        let rows = tx.fetch(scan_range(self.partition, range, limit, self.now)).await?;
        rows.iter().map(read_candidate).collect()
    }
}

/// Owns what the next one to ask takes.
const NOBODY: Owner = (0, -1);

/// Adds `begin_key, begin_seq`.
fn at(statement: Statement, begin: &Place) -> Statement {
    statement.bind(begin.0.clone()).bind(begin.1)
}

fn place_of(position: &Position) -> Place {
    (position.sort_key.as_bytes().to_vec(), position.seq)
}

fn position_at(place: &Place) -> Position {
    Position { sort_key: SortKey::from_bytes(&place.0), seq: place.1 }
}

fn read_place(row: &Row, key: &'static str, seq: &'static str) -> Result<Place, StoreError> {
    Ok((row.get(key)?, row.get(seq)?))
}

fn read_segment(row: &Row) -> Result<Segment, StoreError> {
    Ok(Segment {
        begin: read_place(row, "begin_key", "begin_seq")?,
        cursor: read_place(row, "cursor_key", "cursor_seq")?,
    })
}

fn read_rest(row: &Row) -> Result<Rest, StoreError> {
    Ok(Rest {
        segment: read_segment(row)?,
        owner: (row.get("node")?, row.get("replica")?),
        ahead: row.get("ahead")?,
        behind: row.get("behind")?,
    })
}
