//! Taking a request in.

use overnight_domain::ids::RequestId;
use overnight_domain::scheduler::{AccountKey, ModelKey};
use overnight_domain::sort_key::SortKey;

use crate::store::rows::{Part, RowsStatement, chunks};
use crate::store::tx::Statement;
use crate::store::writer::{Job, Lane, Operation, Unit};
use crate::store::{Store, StoreError, row};

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
    /// A JSON object, or `None` for null.
    pub metadata: Option<Vec<u8>>,
    /// Where to tell of its end.
    pub webhook: Option<String>,
    /// The chat-completion request: JSON without white space outside strings.
    pub body: Vec<u8>,
}

/// Stores a request. Once this returns it survives the end of the process and power loss.
pub async fn insert(store: &Store, request: NewRequest) -> Result<(), StoreError> {
    store.writer().write(request).await
}

static INSERT: RowsStatement<2> = RowsStatement::all([
    Part {
        head: "INSERT INTO requests
               (seq, id, account, model, created_at, expires_at, metadata, webhook, body) VALUES",
        columns: 9,
        tail: "",
    },
    Part {
        head: "INSERT INTO progress (seq, account, model, state, ready_at, deadline, cost, sort_key) VALUES",
        columns: 8,
        tail: "",
    },
]);

impl Operation for NewRequest {
    type Answer = ();
    const LANE: Lane = Lane::Intake;

    fn bytes(&self) -> usize {
        size_of::<Self>() + self.body.len() + self.metadata.as_ref().map_or(0, Vec::len)
    }

    async fn apply(jobs: &[Job<Self>], unit: &mut Unit<'_>) -> Result<Vec<()>, StoreError> {
        let first = unit.sequences.request;
        let numbered: Vec<(i64, &Self)> = (first..).zip(jobs.iter().map(|job| &job.operation)).collect();
        for chunk in chunks(&numbered) {
            unit.tx.execute(bind(chunk)).await?;
        }
        unit.sequences.request += jobs.len() as i64;
        Ok(vec![(); jobs.len()])
    }
}

fn bind(numbered: &[(i64, &NewRequest)]) -> Statement<'static> {
    let statement = numbered.iter().fold(INSERT.of(numbered.len()), |statement, (seq, request)| {
        statement
            .bind(*seq)
            .bind(request.id.to_bytes().to_vec())
            .bind(request.account.0)
            .bind(request.model.0)
            .bind(request.created_at)
            .bind(request.expires_at)
            .bind(request.metadata.clone())
            .bind(request.webhook.clone())
            .bind(request.body.clone())
    });
    numbered.iter().fold(statement, |statement, (seq, request)| {
        statement
            .bind(*seq)
            .bind(request.account.0)
            .bind(request.model.0)
            .bind(row::GATHERING)
            .bind(request.ready_at)
            .bind(request.expires_at)
            .bind(request.cost)
            .bind(request.sort_key.as_bytes().to_vec())
    })
}
