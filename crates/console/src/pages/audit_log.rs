//! Changes by operators and members.

use askama::Template;
use overnight_app::audit_log::{Entry, Place};
use overnight_domain::audit_log::{ActorKind, AuditAction};
use serde_json::Value;

use super::format::filters;
use super::layout::pages;
use super::lists::NextPage;
use super::{Layout, Section};

/// The audit log of an account or of the whole service.
#[derive(Template)]
#[template(path = "audit_log.html")]
pub(crate) struct AuditLogPage {
    pub layout: Layout,
    /// False for the whole service.
    pub is_of_account: bool,
    pub entries: Vec<Entry>,
    /// `None`: all actions.
    pub action: Option<AuditAction>,
    pub next: NextPage<Place>,
    /// The retention of entries, in days.
    pub days: i64,
}

impl AuditLogPage {
    fn home(&self) -> String {
        if self.is_of_account {
            format!("{}/audit-log", self.layout.home())
        } else {
            format!("{}/operator/audit-log", self.layout.base)
        }
    }

    fn after(&self, Place { created_at, seq }: &Place) -> String {
        let action = self.action.map(|action| format!("&action={}", action.as_str())).unwrap_or_default();
        format!("{}?before={created_at}-{seq}{action}", self.home())
    }

    /// The account that an entry of the whole service concerns, unless it is the entry's subject.
    fn account(&self, entry: &Entry) -> Option<String> {
        let account = entry.account.filter(|_| !self.is_of_account)?.to_string();
        (entry.target_id.as_ref() != Some(&account)).then_some(account)
    }

    /// Further names and values.
    #[expect(clippy::unused_self, reason = "a template calls methods")]
    fn details(&self, entry: &Entry) -> Vec<(String, String)> {
        let details = entry.details.as_deref().and_then(|text| serde_json::from_str(text).ok());
        let Some(Value::Object(members)) = details else { return Vec::new() };
        let known = members.into_iter().filter(|(_, value)| !value.is_null());
        let told = |value: Value| match value {
            Value::String(text) => text,
            other => other.to_string(),
        };
        known.map(|(name, value)| (name.replace('_', " "), told(value))).collect()
    }

    fn actor<'e>(&self, entry: &'e Entry) -> &'e str {
        match (entry.actor_kind, entry.actor_name.as_deref().or(entry.actor_id.as_deref())) {
            (ActorKind::Service, _) => "the service",
            (_, None) if entry.is_operator => "the operator",
            (ActorKind::Operator, name) => name.unwrap_or("an operator"),
            (ActorKind::User, name) => name.unwrap_or("a user"),
            (ActorKind::ApiKey, name) => name.unwrap_or("an API key"),
        }
    }
}

pages!(AuditLogPage);
