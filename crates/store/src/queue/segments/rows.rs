//! The rows of segments, and the statements for them.

use overnight_domain::scheduler::{Candidate, Position, QueuePartition, SweptSegment};
use overnight_domain::sort_key::SortKey;

use crate::StoreError;
use crate::database::{Row, Sql, Statement, Tx, statements};
use crate::queue::queue_scan::{KeyRange, LAST_KEY, read_candidate, scan_range};

/// A segment not scanned for this long is left.
const LEFT_MS: i64 = 120_000;

statements! {
    COMMIT_WITHOUT_WAITING = { postgres: "SET LOCAL synchronous_commit = off" };
    COUNT_SWEPT = { postgres: "SELECT count(*) AS count FROM segments s WHERE model = ? AND account = ? AND scanned_at >= ?
          AND EXISTS (SELECT 1 FROM nodes n WHERE n.seq = s.node)" };
    LIST = { postgres: "SELECT begin_key, begin_seq, cursor_key, cursor_seq FROM segments
        WHERE model = ? AND account = ? ORDER BY begin_key, begin_seq" };
    OWN = { postgres: "SELECT begin_key, begin_seq, cursor_key, cursor_seq FROM segments
        WHERE model = ? AND account = ? AND node = ? AND replica = ? ORDER BY begin_key, begin_seq LIMIT 1 FOR UPDATE" };
    /// The beginning of the next segment, which is the end of this one.
    NEXT = { postgres: "SELECT begin_key, begin_seq FROM segments
        WHERE model = ? AND account = ? AND (begin_key, begin_seq) > (?, ?) ORDER BY begin_key, begin_seq LIMIT 1" };
    GO_ON = { postgres: "UPDATE segments SET cursor_key = ?, cursor_seq = ?, scanned_at = ?
        WHERE model = ? AND account = ? AND begin_key = ? AND begin_seq = ?" };
    /// The first segment always exists: it is locked before segments are given or taken.
    LOCK = { postgres: "SELECT 1 AS is_there FROM segments
        WHERE model = ? AND account = ? AND begin_key = ''::bytea FOR UPDATE" };
    /// Every segment, whether it is left, and the requests that wait in it, before and behind its cursor, each counted up to a
    /// limit.
    RESTS = { postgres: "SELECT s.begin_key, s.begin_seq, s.cursor_key, s.cursor_seq, s.node, s.replica,
            s.scanned_at < p.left_at OR NOT EXISTS (SELECT 1 FROM nodes n WHERE n.seq = s.node) AS is_left,
            ahead.count AS ahead, behind.count AS behind
        FROM (SELECT begin_key, begin_seq, cursor_key, cursor_seq, node, replica, scanned_at, model, account,
                lead(begin_key) OVER w AS until_key, lead(begin_seq) OVER w AS until_seq
            FROM segments WHERE model = ? AND account = ? WINDOW w AS (ORDER BY begin_key, begin_seq)) s
        CROSS JOIN (SELECT ?::bytea AS last_key, ?::bigint AS now, ?::bigint AS left_at, ?::bigint AS counted_max) p
        CROSS JOIN LATERAL (SELECT count(*) AS count FROM (SELECT 1 FROM queue q
            WHERE q.model = s.model AND q.account = s.account AND (q.sort_key, q.seq) > (s.cursor_key, s.cursor_seq)
              AND (q.sort_key, q.seq) <= (coalesce(s.until_key, p.last_key), coalesce(s.until_seq, 0))
              AND q.phase = 0 /* waiting */ AND q.retry_at <= p.now LIMIT p.counted_max) q) ahead
        CROSS JOIN LATERAL (SELECT count(*) AS count FROM (SELECT 1 FROM queue q
            WHERE q.model = s.model AND q.account = s.account AND (q.sort_key, q.seq) > (s.begin_key, s.begin_seq)
              AND (q.sort_key, q.seq) <= (s.cursor_key, s.cursor_seq)
              AND q.phase = 0 /* waiting */ AND q.retry_at <= p.now LIMIT p.counted_max) q) behind
        ORDER BY s.begin_key, s.begin_seq" };
    INSERT = { postgres: "INSERT INTO segments
            (model, account, begin_key, begin_seq, cursor_key, cursor_seq, node, replica, scanned_at)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING" };
    CURRENT = { postgres: "SELECT begin_key, begin_seq, cursor_key, cursor_seq FROM segments
        WHERE model = ? AND account = ? AND begin_key = ? AND begin_seq = ? FOR UPDATE" };
    TAKE_OVER = { postgres: "UPDATE segments SET node = ?, replica = ?, scanned_at = ?
        WHERE model = ? AND account = ? AND begin_key = ? AND begin_seq = ?" };
    DELETE = { postgres: "DELETE FROM segments WHERE model = ? AND account = ? AND begin_key = ? AND begin_seq = ?" };
    /// One that is left and not about to be taken: the caller holds a lock, and must not wait for another.
    DELETE_LEFT = { postgres: "DELETE FROM segments WHERE (model, account, begin_key, begin_seq) IN (
            SELECT model, account, begin_key, begin_seq FROM segments s
            WHERE model = ? AND account = ? AND begin_key = ? AND begin_seq = ?
              AND (scanned_at < ? OR NOT EXISTS (SELECT 1 FROM nodes n WHERE n.seq = s.node)) FOR UPDATE SKIP LOCKED)" };
    PREVIOUS = { postgres: "SELECT begin_key, begin_seq FROM segments
        WHERE model = ? AND account = ? AND (begin_key, begin_seq) < (?, ?) ORDER BY begin_key DESC, begin_seq DESC LIMIT 1" };
    /// A left segment takes the name of the next one, which is about to be deleted.
    REVIVE = { postgres: "UPDATE segments SET node = ?, replica = ?, scanned_at = ?
        WHERE (model, account, begin_key, begin_seq) IN (
            SELECT model, account, begin_key, begin_seq FROM segments s
            WHERE model = ? AND account = ? AND begin_key = ? AND begin_seq = ?
              AND (scanned_at < ? OR NOT EXISTS (SELECT 1 FROM nodes n WHERE n.seq = s.node)) FOR UPDATE SKIP LOCKED)" };
}

/// A node's replica, by the node's number for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Owner {
    pub(super) node: i64,
    pub(super) replica: i64,
}

/// A place in the order, as columns.
pub(super) type Place = (Vec<u8>, i64);

#[derive(Debug, Clone)]
pub(super) struct Segment {
    pub(super) begin: Place,
    pub(super) cursor: Place,
}

#[derive(Debug)]
pub(super) struct Rest {
    pub(super) segment: Segment,
    pub(super) owner: Owner,
    pub(super) is_left: bool,
    pub(super) ahead: i64,
    behind: i64,
}

impl Rest {
    /// Waiting requests, as far as they were counted.
    pub(super) const fn count(&self) -> i64 {
        self.ahead + self.behind
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Segments {
    pub(super) partition: QueuePartition,
    pub(super) now: i64,
}

const START: Place = (Vec::new(), i64::MIN);

impl Segments {
    /// If a crash sets a cursor back, a run is scanned twice: no commit needs to wait for that.
    pub(super) async fn commit_without_waiting(self, tx: &mut Tx<'_>) -> Result<(), StoreError> {
        tx.execute(COMMIT_WITHOUT_WAITING.unbound()).await.map(drop)
    }

    pub(super) fn count_swept(self) -> Statement {
        self.all(&COUNT_SWEPT).bind(self.left_at())
    }

    /// In order.
    pub(super) fn list(self) -> Statement {
        self.all(&LIST)
    }

    pub(super) async fn of(self, tx: &mut Tx<'_>, owner: Owner) -> Result<Option<Segment>, StoreError> {
        let own = self.all(&OWN).bind(owner.node).bind(owner.replica);
        tx.fetch(own).await?.first().map(read_segment).transpose()
    }

    /// The segment that begins there, locked.
    pub(super) async fn current(self, tx: &mut Tx<'_>, begin: &Place) -> Result<Option<Segment>, StoreError> {
        tx.fetch(at(self.all(&CURRENT), begin)).await?.first().map(read_segment).transpose()
    }

    /// Creates the first segment for the owner if it is missing, and locks giving and taking.
    pub(super) async fn begin(self, tx: &mut Tx<'_>, owner: Owner) -> Result<(), StoreError> {
        self.insert(tx, &START, owner).await?;
        tx.fetch(self.all(&LOCK)).await.map(drop)
    }

    /// Waiting requests of every segment, counted up to a limit.
    pub(super) async fn rests(self, tx: &mut Tx<'_>, counted_max: i64) -> Result<Vec<Rest>, StoreError> {
        let rests =
            self.all(&RESTS).bind(LAST_KEY.to_vec()).bind(self.now).bind(self.left_at()).bind(counted_max);
        tx.fetch(rests).await?.iter().map(read_rest).collect()
    }

    pub(super) async fn insert(self, tx: &mut Tx<'_>, begin: &Place, owner: Owner) -> Result<(), StoreError> {
        let insert = at(at(self.all(&INSERT), begin), begin);
        tx.execute(insert.bind(owner.node).bind(owner.replica).bind(self.now)).await.map(drop)
    }

    pub(super) async fn take_over(
        self,
        tx: &mut Tx<'_>,
        begin: &Place,
        owner: Owner,
    ) -> Result<(), StoreError> {
        let take_over = TAKE_OVER.bind(owner.node).bind(owner.replica).bind(self.now);
        tx.execute(self.at(take_over, begin)).await.map(drop)
    }

    /// The segment joins the previous one. The first one stays, and is left.
    pub(super) async fn give_up(self, tx: &mut Tx<'_>, rest: &Rest) -> Result<(), StoreError> {
        let begin = &rest.segment.begin;
        if *begin != START {
            return tx.execute(at(self.all(&DELETE), begin)).await.map(drop);
        }
        let leave = TAKE_OVER.bind(rest.owner.node).bind(-1_i64).bind(0_i64);
        tx.execute(self.at(leave, begin)).await.map(drop)
    }

    pub(super) async fn move_cursor(
        self,
        tx: &mut Tx<'_>,
        begin: &Place,
        cursor: Place,
    ) -> Result<(), StoreError> {
        let go_on = GO_ON.bind(cursor.0).bind(cursor.1).bind(self.now);
        tx.execute(self.at(go_on, begin)).await.map(drop)
    }

    /// `None` for the end of the order.
    pub(super) async fn end_of(self, tx: &mut Tx<'_>, begin: &Place) -> Result<Option<Place>, StoreError> {
        tx.fetch(at(self.all(&NEXT), begin)).await?.first().map(read_begin).transpose()
    }

    /// Absorbs the next segment if it is left; returns whether it was.
    pub(super) async fn absorb_next(self, tx: &mut Tx<'_>, begin: &Place) -> Result<bool, StoreError> {
        let Some(next) = self.end_of(tx, begin).await? else { return Ok(false) };
        let absorb = at(self.all(&DELETE_LEFT), &next).bind(self.left_at());
        Ok(tx.execute(absorb).await? > 0)
    }

    /// Absorbs the previous segment if it is left; returns where the segment begins now.
    pub(super) async fn absorb_previous(
        self,
        tx: &mut Tx<'_>,
        begin: &Place,
        owner: Owner,
    ) -> Result<Place, StoreError> {
        let previous = tx.fetch(at(self.all(&PREVIOUS), begin)).await?;
        let Some(previous) = previous.first().map(read_begin).transpose()? else { return Ok(begin.clone()) };
        let revive = REVIVE.bind(owner.node).bind(owner.replica).bind(self.now);
        if tx.execute(self.at(revive, &previous).bind(self.left_at())).await? == 0 {
            return Ok(begin.clone());
        }
        tx.execute(at(self.all(&DELETE), begin)).await?;
        Ok(previous)
    }

    /// Requests that may be tried, in order.
    pub(super) async fn scan(
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

    const fn left_at(self) -> i64 {
        self.now - LEFT_MS
    }

    /// Binds `model, account` first.
    fn all(self, sql: &'static Sql) -> Statement {
        sql.bind(self.partition.model).bind(self.partition.account)
    }

    /// Adds `model, account, begin_key, begin_seq`.
    fn at(self, statement: Statement, begin: &Place) -> Statement {
        at(statement.bind(self.partition.model).bind(self.partition.account), begin)
    }
}

/// Adds `begin_key, begin_seq`.
fn at(statement: Statement, begin: &Place) -> Statement {
    statement.bind(begin.0.clone()).bind(begin.1)
}

pub(super) fn place_of(position: &Position) -> Place {
    (position.sort_key.as_bytes().to_vec(), position.seq)
}

fn position_at(place: &Place) -> Position {
    Position { sort_key: SortKey::from_bytes(&place.0), seq: place.1 }
}

fn read_begin(row: &Row) -> Result<Place, StoreError> {
    Ok((row.get("begin_key")?, row.get("begin_seq")?))
}

fn read_segment(row: &Row) -> Result<Segment, StoreError> {
    Ok(Segment { begin: read_begin(row)?, cursor: (row.get("cursor_key")?, row.get("cursor_seq")?) })
}

pub(super) fn read_swept(row: &Row) -> Result<SweptSegment, StoreError> {
    let Segment { begin, cursor } = read_segment(row)?;
    let from = Some(&begin).filter(|begin| **begin != START).map(position_at);
    Ok(SweptSegment { from, cursor: Some(&cursor).filter(|cursor| **cursor != begin).map(position_at) })
}

fn read_rest(row: &Row) -> Result<Rest, StoreError> {
    Ok(Rest {
        segment: read_segment(row)?,
        owner: Owner { node: row.get("node")?, replica: row.get("replica")? },
        is_left: row.get("is_left")?,
        ahead: row.get("ahead")?,
        behind: row.get("behind")?,
    })
}
