//! Pages of the audit log, the newest entries first.

use overnight_domain::audit_log::{ActorKind, AuditAction};
use overnight_domain::ids::AccountId;
use overnight_domain::scheduler::AccountKey;

use crate::audit_log::entries::kind_code;
use crate::database::{Row, statements};
use crate::{Store, StoreError};

/// Times are in milliseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub place: Place,
    pub actor_kind: ActorKind,
    /// The identifier of the user or the API key.
    pub actor_id: Option<String>,
    /// The actor's name at that time.
    pub actor_name: Option<String>,
    /// Whether the actor was an operator at that time.
    pub is_operator: bool,
    pub account: Option<AccountId>,
    /// A newer release may write actions that [`AuditAction`] lacks.
    pub action: String,
    pub target_type: String,
    pub target_id: Option<String>,
    /// A JSON object.
    pub details: Option<String>,
    /// Of the caller.
    pub address: Option<String>,
}

/// A place in the log: entries are ordered by time, then by number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// In milliseconds.
    pub created_at: i64,
    pub seq: i64,
}

impl Place {
    pub const END: Self = Self { created_at: i64::MAX, seq: i64::MAX };
}

#[derive(Debug, Clone, Copy)]
pub struct Filter {
    /// `None` for all entries.
    pub account: Option<AccountKey>,
    /// `None` for all.
    pub action: Option<AuditAction>,
    /// In milliseconds, inclusive.
    pub since: i64,
    /// Exclusive.
    pub before: Place,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// Newest first.
    pub entries: Vec<Entry>,
    /// Where the next page begins; `None` on the last page.
    pub next: Option<Place>,
}

statements! {
    LIST = "SELECT page.seq, page.created_at, page.actor_kind, page.actor_id, page.actor_name, page.is_operator, page.action, page.target_type, page.target_id, page.details, page.address,
               a.id AS account_id
        FROM (SELECT seq, created_at, actor_kind, actor_id, actor_name, is_operator, account, action, target_type, target_id, details, address
              FROM audit_log WHERE (created_at, seq) < (?, ?) AND created_at >= ? ORDER BY created_at DESC, seq DESC LIMIT ?) page
        LEFT JOIN accounts a ON a.seq = page.account ORDER BY page.created_at DESC, page.seq DESC";
    LIST_OF_ACTION = "SELECT page.seq, page.created_at, page.actor_kind, page.actor_id, page.actor_name, page.is_operator, page.action, page.target_type, page.target_id, page.details, page.address,
               a.id AS account_id
        FROM (SELECT seq, created_at, actor_kind, actor_id, actor_name, is_operator, account, action, target_type, target_id, details, address
              FROM audit_log WHERE action = ? AND (created_at, seq) < (?, ?) AND created_at >= ?
              ORDER BY created_at DESC, seq DESC LIMIT ?) page
        LEFT JOIN accounts a ON a.seq = page.account ORDER BY page.created_at DESC, page.seq DESC";
    LIST_OF_ACCOUNT = "SELECT page.seq, page.created_at, page.actor_kind, page.actor_id, page.actor_name, page.is_operator, page.action, page.target_type, page.target_id, page.details, page.address,
               a.id AS account_id
        FROM (SELECT seq, created_at, actor_kind, actor_id, actor_name, is_operator, account, action, target_type, target_id, details, address
              FROM audit_log WHERE account = ? AND (created_at, seq) < (?, ?) AND created_at >= ?
              ORDER BY created_at DESC, seq DESC LIMIT ?) page
        LEFT JOIN accounts a ON a.seq = page.account ORDER BY page.created_at DESC, page.seq DESC";
    /// SQLite would read every entry of the account.
    LIST_OF_ACCOUNT_AND_ACTION = {
        sqlite: "SELECT page.seq, page.created_at, page.actor_kind, page.actor_id, page.actor_name, page.is_operator, page.action, page.target_type, page.target_id, page.details,
               page.address, a.id AS account_id
        FROM (SELECT seq, created_at, actor_kind, actor_id, actor_name, is_operator, account, action, target_type, target_id, details, address
              FROM audit_log INDEXED BY audit_log_by_account_and_action WHERE account = ? AND action = ? AND (created_at, seq) < (?, ?) AND created_at >= ?
              ORDER BY created_at DESC, seq DESC LIMIT ?) page
        LEFT JOIN accounts a ON a.seq = page.account ORDER BY page.created_at DESC, page.seq DESC",
        postgres: "SELECT page.seq, page.created_at, page.actor_kind, page.actor_id, page.actor_name, page.is_operator, page.action, page.target_type, page.target_id, page.details,
               page.address, a.id AS account_id
        FROM (SELECT seq, created_at, actor_kind, actor_id, actor_name, is_operator, account, action, target_type, target_id, details, address
              FROM audit_log WHERE account = ? AND action = ? AND (created_at, seq) < (?, ?) AND created_at >= ?
              ORDER BY created_at DESC, seq DESC LIMIT ?) page
        LEFT JOIN accounts a ON a.seq = page.account ORDER BY page.created_at DESC, page.seq DESC",
    };
}

pub async fn list(store: &Store, filter: &Filter, limit: u32) -> Result<Page, StoreError> {
    let Filter { account, action, since, before } = *filter;
    let query = match (account, action.map(AuditAction::as_str)) {
        (None, None) => LIST.unbound(),
        (None, Some(action)) => LIST_OF_ACTION.bind(action),
        (Some(account), None) => LIST_OF_ACCOUNT.bind(account),
        (Some(account), Some(action)) => LIST_OF_ACCOUNT_AND_ACTION.bind(account).bind(action),
    };
    // One more row shows whether there is a next page.
    let query = query.bind(before.created_at).bind(before.seq).bind(since).bind(i64::from(limit) + 1);
    let rows = store.readers().fetch_all(query).await?;
    let mut entries = rows.iter().map(read).collect::<Result<Vec<_>, _>>()?;
    let has_more = entries.len() > limit as usize;
    entries.truncate(limit as usize);
    let next = entries.last().map(|entry| entry.place).filter(|_| has_more);
    Ok(Page { entries, next })
}

fn read(row: &Row) -> Result<Entry, StoreError> {
    let kind: i64 = row.get("actor_kind")?;
    let kind = ActorKind::ALL.into_iter().find(|known| kind_code(*known) == kind);
    Ok(Entry {
        place: Place { created_at: row.get("created_at")?, seq: row.get("seq")? },
        actor_kind: kind.ok_or(StoreError::Damaged("an actor's kind"))?,
        actor_id: row.get("actor_id")?,
        actor_name: row.get("actor_name")?,
        is_operator: row.get("is_operator")?,
        account: row.get("account_id")?,
        action: row.get("action")?,
        target_type: row.get("target_type")?,
        target_id: row.get("target_id")?,
        details: row.get("details")?,
        address: row.get("address")?,
    })
}
