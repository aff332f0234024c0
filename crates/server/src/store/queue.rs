//! Looking at the queue. A look decides nothing: what it saw is taken only by a lease, which is guarded.

use overnight_domain::ids::RequestId;
use overnight_domain::scheduler::{Backlog, Candidate, Group, Position};
use overnight_domain::sort_key::SortKey;

use super::releases::{self, read_backlog};
use super::sql::{Kind, Row, RowsStatement, Value, chunks, sql};
use super::{Store, StoreError};

pub(super) const LOOK: &str = "SELECT sort_key, seq, cost, deadline, attempts, suspect FROM queue
     WHERE model = ? AND account = ? AND (sort_key, seq) > (?, ?) AND phase = 0 AND retry_at <= ?
     ORDER BY sort_key, seq LIMIT ? + 0";

/// Waiting requests of a group behind `after` that may be tried by `now`, in order; and whether no more lie behind.
pub async fn look(
    store: &Store,
    group: Group,
    after: Option<&Position>,
    limit: u32,
    now: i64,
) -> Result<(Vec<Candidate>, bool), StoreError> {
    let (sort_key, seq) = match after {
        Some(position) => (position.sort_key.as_bytes(), position.seq),
        None => ([].as_slice(), i64::MIN),
    };
    let query =
        sql(LOOK).bind(group.model.0).bind(group.account.0).bind(sort_key).bind(seq).bind(now).bind(limit);
    let rows = store.readers().fetch_all(query).await?;
    let reached_end = rows.len() < limit as usize;
    Ok((rows.iter().map(read_candidate).collect::<Result<_, _>>()?, reached_end))
}

/// What waits in the queue, by group: read once, when the process starts.
pub async fn backlogs(store: &Store) -> Result<Vec<Backlog>, StoreError> {
    let text = "SELECT model, account, count(*), CAST(sum(cost) AS BIGINT) FROM queue WHERE phase = 0 GROUP BY model, account";
    store.readers().fetch_all(sql(text)).await?.iter().map(read_backlog).collect()
}

/// The earliest `ready_at` of what gathers, in milliseconds.
pub async fn next_ready_at(store: &Store) -> Result<Option<i64>, StoreError> {
    store.readers().fetch_one(releases::next()).await?.get(0)
}

/// What an engine needs of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt {
    /// The request.
    pub seq: i64,
    /// Its identifier, for logs.
    pub id: RequestId,
    /// The chat-completion request as taken in.
    pub body: Vec<u8>,
}

/// Larger prompts are read one by one, so that a run of them does not fill the memory.
const SMALL_PROMPT_BYTES: i64 = 64 << 10;

static SMALL_PROMPTS: RowsStatement = RowsStatement::new(
    "SELECT seq, id, body FROM requests WHERE octet_length(body) <= ? AND seq IN (",
    &[Kind::Integer],
    ")",
);

/// The prompts of up to 64 KiB among these requests, in no particular order.
pub async fn list_small_prompts(store: &Store, seqs: &[i64]) -> Result<Vec<Prompt>, StoreError> {
    let mut prompts = Vec::with_capacity(seqs.len());
    for chunk in chunks(seqs) {
        let seqs = chunk.iter().map(|seq| Value::from(*seq)).collect();
        let statement = SMALL_PROMPTS.over(store.dialect(), [SMALL_PROMPT_BYTES.into()], seqs, []);
        for row in store.readers().fetch_all(statement).await? {
            prompts.push(read_prompt(&row)?);
        }
    }
    Ok(prompts)
}

/// The prompt of one request; `None` where the request is gone.
pub async fn find_prompt(store: &Store, seq: i64) -> Result<Option<Prompt>, StoreError> {
    let query = sql("SELECT seq, id, body FROM requests WHERE seq = ?").bind(seq);
    store.readers().fetch_optional(query).await?.as_ref().map(read_prompt).transpose()
}

fn read_prompt(row: &Row) -> Result<Prompt, StoreError> {
    let id = RequestId::from_bytes(row.get(1)?).ok_or(StoreError::Damaged("a request's id"))?;
    Ok(Prompt { seq: row.get(0)?, id, body: row.get(2)? })
}

fn read_candidate(row: &Row) -> Result<Candidate, StoreError> {
    let position = Position { sort_key: SortKey::from_bytes(row.get(0)?), seq: row.get(1)? };
    Ok(Candidate {
        position,
        cost: row.get(2)?,
        deadline: row.get(3)?,
        attempts: u32::try_from(row.get::<i64>(4)?)
            .map_err(|_| StoreError::Damaged("a count of attempts"))?,
        suspect: row.flag(5)?,
    })
}
