//! Reading the audit log.

use overnight_domain::scheduler::AccountKey;
use overnight_store::audit_log;
use serde::Serialize;
use serde_json::Value;

use super::Services;
use super::errors::AppError;
pub use overnight_store::audit_log::{CHANGES_A_DAY_MAX, Entry, Filter, Page, Place};

/// An entry as programs read it. Times are in seconds.
#[derive(Debug, Clone, Serialize)]
pub struct EntryRecord {
    id: i64,
    created_at: i64,
    actor: ActorRecord,
    account: Option<String>,
    action: String,
    target: TargetRecord,
    details: Option<Value>,
    address: Option<String>,
}

#[derive(Debug, Clone, Serialize)]
struct ActorRecord {
    #[serde(rename = "type")]
    kind: &'static str,
    id: Option<String>,
    name: Option<String>,
    is_operator: bool,
}

#[derive(Debug, Clone, Serialize)]
struct TargetRecord {
    #[serde(rename = "type")]
    kind: String,
    id: Option<String>,
}

impl From<Entry> for EntryRecord {
    fn from(entry: Entry) -> Self {
        Self {
            id: entry.place.seq,
            created_at: entry.place.created_at.div_euclid(1_000),
            actor: ActorRecord {
                kind: entry.actor_kind.as_str(),
                id: entry.actor_id,
                name: entry.actor_name,
                is_operator: entry.is_operator,
            },
            account: entry.account.map(|account| account.to_string()),
            action: entry.action,
            target: TargetRecord { kind: entry.target_type, id: entry.target_id },
            details: entry.details.and_then(|details| serde_json::from_str(&details).ok()),
            address: entry.address,
        }
    }
}

/// A page of at most `limit` matching entries for operators, newest first.
pub async fn list(services: &Services, filter: &Filter, limit: u32) -> Result<Page, AppError> {
    Ok(audit_log::list(&services.store, filter, limit).await?)
}

/// The same for an account's owners, without operators' names and addresses.
pub async fn list_for_owner(
    services: &Services,
    account: AccountKey,
    filter: &Filter,
    limit: u32,
) -> Result<Page, AppError> {
    let mut page = list(services, &Filter { account: Some(account), ..*filter }, limit).await?;
    for entry in page.entries.iter_mut().filter(|entry| entry.is_operator) {
        (entry.actor_id, entry.actor_name, entry.address) = (None, None, None);
    }
    Ok(page)
}
