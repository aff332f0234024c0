//! One change, as it is written to the log.

use overnight_domain::audit_log::{ActorKind, AuditAction};
use overnight_domain::ids::{AccountId, KeyId, UserId};
use overnight_domain::scheduler::AccountKey;
use serde_json::{Value as Json, json};

use crate::audit_log::bounds;
use crate::database::{Actor, ActorId, Connection, Statement, Tx, statements};
use crate::{Store, StoreError};

statements! {
    INSERT = "INSERT INTO audit_log (created_at, actor_kind, actor_id, actor_name, is_operator, account, action, target_type, target_id, details, address)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
    FIND_USER = "SELECT id, email, is_operator FROM users WHERE seq = ?";
    FIND_API_KEY = "SELECT id, prefix, name, scope = 2 /* admin */ AS is_admin FROM api_keys WHERE seq = ?";
    FIND_ACCOUNT = "SELECT id FROM accounts WHERE seq = ?";
}

#[derive(Debug, Clone)]
pub(crate) struct Change {
    pub(crate) action: AuditAction,
    /// `None` for the whole service, and for a user.
    pub(crate) account: Option<AccountKey>,
    pub(crate) target_type: &'static str,
    /// `None` if the target is the account.
    pub(crate) target_id: Option<String>,
    /// A JSON object without secrets; null for none.
    pub(crate) details: Json,
    /// In milliseconds.
    pub(crate) now: i64,
    /// Exempt from the daily limits.
    pub(crate) is_never_refused: bool,
}

impl Change {
    pub(crate) const fn of_account(action: AuditAction, account: AccountKey, now: i64) -> Self {
        let (target_type, target_id, details) = ("account", None, Json::Null);
        Self { action, account: Some(account), target_type, target_id, details, now, is_never_refused: false }
    }

    pub(crate) fn of_user(action: AuditAction, user: UserId, now: i64) -> Self {
        let (target_type, target_id, details) = ("user", Some(user.to_string()), Json::Null);
        Self { action, account: None, target_type, target_id, details, now, is_never_refused: false }
    }

    pub(crate) const fn in_account(mut self, account: AccountKey) -> Self {
        self.account = Some(account);
        self
    }

    /// Names a target other than the account or user.
    pub(crate) fn to(mut self, target_type: &'static str, id: &impl ToString) -> Self {
        (self.target_type, self.target_id) = (target_type, Some(id.to_string()));
        self
    }

    pub(crate) fn with(mut self, details: Json) -> Self {
        self.details = details;
        self
    }

    pub(crate) const fn never_refused_if(mut self, is_so: bool) -> Self {
        self.is_never_refused = is_so;
        self
    }

    const fn of_service(action: AuditAction, now: i64) -> Self {
        let (target_type, target_id, details) = ("service", None, Json::Null);
        Self { action, account: None, target_type, target_id, details, now, is_never_refused: false }
    }
}

/// The actor, as stored in the log.
struct Named {
    kind: ActorKind,
    id: Option<String>,
    name: Option<String>,
    is_operator: bool,
}

impl Named {
    fn operator(name: &str) -> Self {
        Self { kind: ActorKind::Operator, id: None, name: Some(name.to_owned()), is_operator: true }
    }
}

/// Notes a change in its transaction, by the transaction's actor. Fails with [`StoreError::TooManyChanges`] beyond the daily limits
/// (`bounds.rs`), and the change is undone.
pub(crate) async fn note_in(change: Change, tx: &mut Tx<'_>) -> Result<(), StoreError> {
    let actor = tx.actor().clone();
    let named = name_in(&actor, tx).await?;
    if named.kind == ActorKind::User && !named.is_operator && !change.is_never_refused {
        bounds::check_in(change.action, change.account, named.id.as_deref(), change.now, tx).await?;
    }
    let target_id = match (change.target_id.clone(), change.account) {
        (None, Some(account)) => {
            let rows = tx.fetch(FIND_ACCOUNT.bind(account)).await?;
            rows.first().map(|row| row.get::<AccountId>("id")).transpose()?.map(|id| id.to_string())
        }
        (id, _) => id,
    };
    let insert = insert(Change { target_id, ..change }, named, &actor);
    tx.execute(insert).await.map(drop)
}

async fn name_in(actor: &Actor, tx: &mut Tx<'_>) -> Result<Named, StoreError> {
    let nobody = |kind| Named { kind, id: None, name: None, is_operator: false };
    match &actor.id {
        ActorId::Service => Ok(nobody(ActorKind::Service)),
        ActorId::Operator(name) => Ok(Named::operator(name)),
        ActorId::User(user) => {
            let rows = tx.fetch(FIND_USER.bind(*user)).await?;
            let Some(row) = rows.first() else { return Ok(nobody(ActorKind::User)) };
            let id = row.get::<UserId>("id")?.to_string();
            let (name, is_operator) = (row.get("email")?, row.get("is_operator")?);
            Ok(Named { kind: ActorKind::User, id: Some(id), name, is_operator })
        }
        ActorId::ApiKey(key) => {
            let rows = tx.fetch(FIND_API_KEY.bind(*key)).await?;
            let Some(row) = rows.first() else { return Ok(nobody(ActorKind::ApiKey)) };
            let name = row.get::<Option<String>>("name")?.map_or_else(|| row.get("prefix"), Ok)?;
            let id = Some(row.get::<KeyId>("id")?.to_string());
            let is_operator = row.get("is_admin")?;
            Ok(Named { kind: ActorKind::ApiKey, id, name: Some(name), is_operator })
        }
    }
}

fn insert(change: Change, named: Named, actor: &Actor) -> Statement {
    let details = Some(change.details).filter(|details| !details.is_null());
    INSERT
        .bind(change.now)
        .bind(kind_code(named.kind))
        .bind(named.id)
        .bind(named.name)
        .bind(named.is_operator)
        .bind(change.account.map(|account| account.0))
        .bind(change.action.as_str())
        .bind(change.target_type)
        .bind(change.target_id)
        .bind(details.map(|details| details.to_string()))
        .bind(actor.address.map(|address| address.to_string()))
}

/// Notes that all data is about to be exported, by the process's actor.
pub async fn note_export(store: &Store, now: i64) -> Result<(), StoreError> {
    let change = Change::of_service(AuditAction::Export, now);
    store.transaction(async move |tx| note_in(change, tx).await).await
}

pub(crate) async fn note_import_on(
    connection: &mut Connection,
    operator: &str,
    rows: u64,
    now: i64,
) -> Result<(), StoreError> {
    let actor = Actor { id: ActorId::Operator(operator.into()), address: None };
    let change = Change::of_service(AuditAction::Import, now).with(json!({"rows": rows}));
    connection.execute(insert(change, Named::operator(operator), &actor)).await.map(drop)
}

pub(super) const fn kind_code(kind: ActorKind) -> i64 {
    match kind {
        ActorKind::Service => 0,
        ActorKind::Operator => 1,
        ActorKind::User => 2,
        ActorKind::ApiKey => 3,
    }
}
