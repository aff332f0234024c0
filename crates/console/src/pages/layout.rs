//! The layout that every page shares.

use askama::Template;
use overnight_domain::roles::Role;

use super::Money;

/// The names of the style sheet and the scripts.
#[derive(Debug, Clone)]
pub(crate) struct Assets {
    pub sheet: String,
    pub script: String,
    /// The script of the page for sending tables.
    pub table_script: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Section {
    Overview,
    Requests,
    Batches,
    New,
    Playground,
    Models,
    Keys,
    Credits,
    Webhooks,
    Account,
    AuditLog,
    Operator,
    OperatorAuditLog,
    You,
}

impl Section {
    /// In navigation order.
    const OF_ACCOUNT: [Self; 10] = [
        Self::Overview,
        Self::Requests,
        Self::Batches,
        Self::New,
        Self::Playground,
        Self::Models,
        Self::Keys,
        Self::Credits,
        Self::Webhooks,
        Self::Account,
    ];

    pub(super) const fn title(self) -> &'static str {
        match self {
            Self::Overview => "Overview",
            Self::Requests => "Requests",
            Self::Batches => "Batches",
            Self::New => "New",
            Self::Playground => "Playground",
            Self::Models => "Models",
            Self::Keys => "API keys",
            Self::Credits => "Credits",
            Self::Webhooks => "Webhooks",
            Self::Account => "Account",
            Self::AuditLog | Self::OperatorAuditLog => "Audit log",
            Self::Operator => "Operator",
            Self::You => "You",
        }
    }

    const fn is_of_account(self) -> bool {
        !matches!(self, Self::Operator | Self::OperatorAuditLog | Self::You)
    }

    /// Its path below the account's.
    pub(super) const fn path(self) -> &'static str {
        match self {
            Self::Overview | Self::Operator | Self::OperatorAuditLog | Self::You => "",
            Self::Requests => "/requests",
            Self::Batches => "/batches",
            Self::New => "/new",
            Self::Playground => "/playground",
            Self::Models => "/models",
            Self::Keys => "/keys",
            Self::Credits => "/credits",
            Self::Webhooks => "/webhooks",
            Self::Account => "/account",
            Self::AuditLog => "/audit-log",
        }
    }
}

#[derive(Debug, Clone)]
pub(crate) struct AccountBadge {
    pub id: String,
    pub name: String,
    pub role: Role,
    pub is_suspended: bool,
}

/// The layout of a page: its navigation, and the outcome of the previous action.
#[derive(Debug, Clone)]
pub(crate) struct Layout {
    /// The base path of the console.
    pub base: String,
    pub assets: Assets,
    pub section: Section,
    /// On pages without an account: the account that the visitor came from, if any.
    pub account: Option<AccountBadge>,
    pub user: String,
    pub is_operator: bool,
    /// Batches of the account that have not ended.
    pub live_batches: i64,
    /// Whether the page has live updates.
    pub is_live: bool,
    /// The success message of the previous action, shown once.
    pub flash: Option<&'static str>,
    /// The failed action, and why.
    pub refused: Option<String>,
    pub money: Money,
    /// Identifies its forms, so that each is processed once, even after a double click or a reload.
    pub once: String,
}

impl Layout {
    /// Whether the page's account is suspended.
    pub(super) fn is_suspended(&self) -> bool {
        self.section.is_of_account() && self.account.as_ref().is_some_and(|account| account.is_suspended)
    }

    /// The path of the account's pages.
    pub(crate) fn home(&self) -> String {
        match &self.account {
            Some(account) => format!("{}/{}", self.base, account.id),
            None => self.base.clone(),
        }
    }

    /// The path of the API reference.
    pub(crate) fn docs(&self) -> String {
        format!("{}/docs", self.base.strip_suffix("/console").unwrap_or_default())
    }

    /// Whether the page has live updates. The answer to a refused form has no URL for them.
    pub(crate) fn is_followed(&self) -> bool {
        self.is_live && self.refused.is_none()
    }

    /// The account's identifier, for commands.
    pub(crate) fn account_id(&self) -> &str {
        self.account.as_ref().map_or("", |account| &account.id)
    }

    pub(super) fn sections(&self) -> impl Iterator<Item = Section> {
        Section::OF_ACCOUNT.into_iter().filter(|_| self.account.is_some())
    }
}

pub(crate) trait Page: Template {
    fn layout(&self) -> &Layout;
}

/// Implements [`Page`] for pages that have their `layout` in a field of that name.
macro_rules! pages {
    ($($page:ty),*) => {
        $(impl $crate::pages::Page for $page {
            fn layout(&self) -> &$crate::pages::Layout {
                &self.layout
            }
        })*
    };
}
pub(super) use pages;

pages!(NoAccountPage);

/// The success message for a code. Codes come from URLs, so only the messages here are shown.
pub(crate) fn flash(code: &str) -> Option<&'static str> {
    Some(match code {
        "welcome" => {
            "You are signed in. Choose an e-mail address and a password to come back without a link."
        }
        "by_link" => {
            "You are signed in, and every other browser was signed out. Your earlier password no longer works: choose a new one."
        }
        "changed" => "It is changed. Every other browser was signed out if you chose a new password.",
        "request_cancelled" => {
            "The request is cancelled. What an engine still says of it is thrown away and costs nothing."
        }
        "batch_cancelled" => "The batch is cancelled. What had ended keeps its results.",
        "ended_already" => "It had ended before it could be cancelled; nothing changed.",
        "sent_again" => "The failed requests are sent again, as this batch.",
        "batch_sent" => {
            "The batch is sent. It is kept from now on, whatever happens, and this page follows it."
        }
        "secret_replaced" => "Webhooks are signed with a new secret from now on.",
        "replayed" => "It is sent again within a second.",
        "account_made" => "The account is made. Its payments are not activated yet, and it has no credits.",
        "activated" => "Its payments are activated: its keys work from now on.",
        "suspended" => "The account is suspended: its keys and members read, and change nothing.",
        "resumed" => "The account goes on: its keys and members may change things again.",
        "granted" => "The credits are granted, and stand in the account’s ledger.",
        "user_removed" => "The user is removed and signed out everywhere.",
        "key_revoked" => "The key is revoked. Whoever still uses it is refused within a second.",
        "request_sent" => "The request is sent. Its answer and what it cost appear here.",
        "request_sent_again" => "The request is sent again, as this one.",
        "joined" => "You belong to this account from now on.",
        "withdrawn" => "The invitation is withdrawn. Its link no longer works.",
        "member_changed" => "The member has another role, from the next click on.",
        "member_dismissed" => "The member is removed.",
        _ => return None,
    })
}

#[derive(Template)]
#[template(path = "error.html")]
pub(crate) struct ErrorPage<'a> {
    pub base: &'a str,
    pub title: &'a str,
    pub sentence: &'a str,
    pub assets: &'a Assets,
}

#[derive(Template)]
#[template(path = "no_account.html")]
pub(crate) struct NoAccountPage {
    pub layout: Layout,
}
