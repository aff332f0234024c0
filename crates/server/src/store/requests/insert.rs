//! Taking a request in.

use bytes::Bytes;
use overnight_domain::ids::RequestId;
use overnight_domain::scheduler::{AccountKey, ModelKey};
use overnight_domain::sort_key::SortKey;

use crate::store::database::{Dialect, Kind, Sql, Value};
use crate::store::events::lane_of;
use crate::store::holds::{Admission, Hold, admit};
use crate::store::writer::{Job, Lane, Operation, Unit};
use crate::store::{Store, StoreError};

/// A request to be taken in. Times are in milliseconds.
#[derive(Debug, Clone)]
pub struct NewRequest {
    /// Its identifier.
    pub id: RequestId,
    /// Who sends it.
    pub account: AccountKey,
    /// The model it names.
    pub model: ModelKey,
    /// When it came.
    pub created_at: i64,
    /// When its completion window ends.
    pub expires_at: i64,
    /// When it has gathered long enough.
    pub ready_at: i64,
    /// Its place in the sweep.
    pub sort_key: SortKey,
    /// Estimated work, in tokens.
    pub cost: i64,
    /// What it may cost; `None` where it costs nothing.
    pub hold: Option<Hold>,
    /// The output limit of one completion, which the engine is sent; `None` for that of the settings when it is sent.
    pub max_tokens: Option<u32>,
    /// A JSON object, or `None` for null.
    pub metadata: Option<Bytes>,
    /// Where to tell of its end.
    pub webhook: Option<String>,
    /// The chat-completion request: JSON without white space outside strings.
    pub body: Bytes,
}

/// Stores a request, if its account can pay for it. Once this returns, what was taken survives the end of the process and
/// power loss.
pub async fn insert(store: &Store, request: NewRequest) -> Result<Admission, StoreError> {
    store.writer().write(request).await
}

pub(in crate::store) static INSERT: Sql = Sql {
    name: "INSERT",
    sqlite: "INSERT INTO requests (seq, id, account, model, created_at, expires_at, metadata, webhook, body, max_tokens)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
    postgres: "",
    columns: &[
        Kind::Integer,
        Kind::Bytes,
        Kind::Integer,
        Kind::Integer,
        Kind::Integer,
        Kind::Integer,
        Kind::Bytes,
        Kind::Text,
        Kind::Bytes,
        Kind::Integer,
    ],
};

pub(in crate::store) static INSERT_PROGRESS: Sql = Sql {
    name: "INSERT_PROGRESS",
    sqlite: "INSERT INTO progress (seq, account, model, state, ready_at, deadline, cost, sort_key, hold, price, lane)
         VALUES (?1, ?2, ?3, 0, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
    postgres: "",
    columns: &[
        Kind::Integer,
        Kind::Integer,
        Kind::Integer,
        Kind::Integer,
        Kind::Integer,
        Kind::Integer,
        Kind::Bytes,
        Kind::Integer,
        Kind::Integer,
        Kind::Integer,
    ],
};

/// Both at once; the numbers are drawn in the order of the list.
pub(in crate::store) static INSERT_ON_POSTGRES: Sql = Sql {
    name: "INSERT_ON_POSTGRES",
    sqlite: "",
    postgres: "WITH v AS (
         SELECT * FROM unnest($1::bytea[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bytea[], $7::text[],
                              $8::bytea[], $9::bigint[], $10::bigint[], $11::bytea[], $12::bigint[], $13::bigint[],
                              $14::bigint[], $15::bigint[])
             AS v(id, account, model, created_at, expires_at, metadata, webhook, body, ready_at, cost, sort_key, hold, price,
                  max_tokens, lane)
     ), numbered AS MATERIALIZED (
         SELECT nextval('requests_seq_seq') AS seq, v.* FROM v
     ), stored AS (
         INSERT INTO requests (seq, id, account, model, created_at, expires_at, metadata, webhook, body, max_tokens)
         SELECT seq, id, account, model, created_at, expires_at, metadata, webhook, body, max_tokens FROM numbered
     ) INSERT INTO progress (seq, account, model, state, ready_at, deadline, cost, sort_key, hold, price, lane)
       SELECT seq, account, model, 0, ready_at, expires_at, cost, sort_key, hold, price, lane FROM numbered",
    columns: &[
        Kind::Bytes,
        Kind::Integer,
        Kind::Integer,
        Kind::Integer,
        Kind::Integer,
        Kind::Bytes,
        Kind::Text,
        Kind::Bytes,
        Kind::Integer,
        Kind::Integer,
        Kind::Bytes,
        Kind::Integer,
        Kind::Integer,
        Kind::Integer,
        Kind::Integer,
    ],
};

impl Operation for NewRequest {
    type Answer = Admission;
    const LANE: Lane = Lane::Intake;

    fn bytes(&self) -> usize {
        size_of::<Self>() + self.body.len() + self.metadata.as_ref().map_or(0, Bytes::len)
    }

    async fn apply(jobs: &[Job<Self>], unit: &mut Unit<'_>) -> Result<Vec<Admission>, StoreError> {
        unit.write_shifts().await?;
        let requests = || jobs.iter().map(|job| &job.operation);
        let arrivals: Vec<_> = requests().map(|request| (request.account, request.hold)).collect();
        let admissions = admit(&arrivals, unit).await?;
        let taken = requests().zip(&admissions).filter(|(_, admission)| **admission == Admission::Taken);
        store(&taken.map(|(request, _)| request).collect::<Vec<_>>(), unit).await?;
        Ok(admissions)
    }
}

async fn store(requests: &[&NewRequest], unit: &mut Unit<'_>) -> Result<(), StoreError> {
    match unit.tx.dialect() {
        Dialect::Sqlite => {
            let count = requests.len();
            let (mut rows, mut progress) = (Vec::with_capacity(10 * count), Vec::with_capacity(10 * count));
            for (seq, request) in (unit.sequences.request..).zip(requests) {
                rows.extend(request.row(seq));
                progress.extend(request.progress(seq));
            }
            unit.tx.execute(INSERT.over([], rows)).await?;
            unit.tx.execute(INSERT_PROGRESS.over([], progress)).await?;
            unit.sequences.request += count as i64;
        }
        Dialect::Postgres => {
            let values = requests.iter().flat_map(|request| request.values_on_postgres()).collect();
            unit.tx.execute(INSERT_ON_POSTGRES.over([], values)).await?;
        }
    }
    Ok(())
}

impl NewRequest {
    /// What is held and the price of it, as columns.
    fn terms(&self) -> (Value, Value) {
        let amount = self.hold.map_or(0, |hold| hold.amount.nanos());
        (amount.into(), self.hold.map(|hold| hold.price.0).into())
    }

    fn lane(&self) -> Option<i64> {
        lane_of(self.account, self.webhook.as_deref())
    }

    fn values_on_postgres(&self) -> [Value; 15] {
        let (hold, price) = self.terms();
        [
            self.id.to_bytes().into(),
            self.account.0.into(),
            self.model.0.into(),
            self.created_at.into(),
            self.expires_at.into(),
            self.metadata.clone().into(),
            self.webhook.clone().into(),
            self.body.clone().into(),
            self.ready_at.into(),
            self.cost.into(),
            self.sort_key.as_bytes().into(),
            hold,
            price,
            self.max_tokens.map(i64::from).into(),
            self.lane().into(),
        ]
    }

    fn row(&self, seq: i64) -> [Value; 10] {
        [
            seq.into(),
            self.id.into(),
            self.account.0.into(),
            self.model.0.into(),
            self.created_at.into(),
            self.expires_at.into(),
            self.metadata.clone().into(),
            self.webhook.clone().into(),
            self.body.clone().into(),
            self.max_tokens.map(i64::from).into(),
        ]
    }

    fn progress(&self, seq: i64) -> [Value; 10] {
        let (hold, price) = self.terms();
        [
            seq.into(),
            self.account.0.into(),
            self.model.0.into(),
            self.ready_at.into(),
            self.expires_at.into(),
            self.cost.into(),
            self.sort_key.as_bytes().into(),
            hold,
            price,
            self.lane().into(),
        ]
    }
}
