//! What an account has, holds, spends and may use.

use askama::Template;
use overnight_domain::money::{Credits, EntryKind};
use overnight_domain::quotas::Quota;

use super::chart::Chart;
use super::format::filters;
use super::layout::pages;
use super::lists::NextPage;
use super::{Layout, Section};
use crate::app::accounts::{Account, Entry};
use crate::app::payments::Payment;
use crate::app::quotas::QuotaStanding;
use crate::app::usage::{UsageRecord, UsedKey};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ModelSpend {
    pub(crate) model: String,
    pub(crate) requests: i64,
    pub(crate) prompt_tokens: i64,
    pub(crate) completion_tokens: i64,
    pub(crate) amount: Credits,
}

/// What was spent by one API key, or by none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KeySpend {
    pub(crate) key: Option<UsedKey>,
    pub(crate) requests: i64,
    pub(crate) amount: Credits,
}

impl From<UsageRecord> for KeySpend {
    fn from(UsageRecord { api_key, requests, amount, .. }: UsageRecord) -> Self {
        Self { key: api_key, requests, amount }
    }
}

#[derive(Template)]
#[template(path = "console/credits.html")]
pub(crate) struct CreditsPage<'a> {
    pub(crate) layout: Layout,
    pub(crate) account: &'a Account,
    /// Whether requests cost credits at all.
    pub(crate) is_billed: bool,
    /// Whether credits can be bought here.
    pub(crate) is_payable: bool,
    pub(crate) may_manage: bool,
    pub(crate) quotas: [QuotaRow; Quota::ALL.len()],
    /// Days that `spend` and `chart` look back.
    pub(crate) days: u32,
    pub(crate) spend: Vec<ModelSpend>,
    pub(crate) keys: Vec<KeySpend>,
    /// Whether keys that cost less are left out.
    pub(crate) has_more_keys: bool,
    /// Spent a day.
    pub(crate) chart: Chart,
    pub(crate) entries: Vec<Entry>,
    /// Of which kind the entries are; `None` for all.
    pub(crate) kind: Option<EntryKind>,
    pub(crate) next_entries: NextPage<i64>,
    /// Whether the page begins with the newest entry.
    pub(crate) is_first: bool,
    pub(crate) payments: Vec<Payment>,
    pub(crate) next_orders: NextPage<i64>,
    /// Where an order is paid that was made just now, and what it brings.
    pub(crate) checkout: Option<(String, Credits)>,
}

/// What an account uses and may use of one thing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct QuotaRow {
    name: &'static str,
    used: Option<i64>,
    limit: Option<i64>,
}

impl From<QuotaStanding> for QuotaRow {
    fn from(QuotaStanding { quota, used, limit }: QuotaStanding) -> Self {
        Self { name: words(quota), used, limit }
    }
}

const fn words(quota: Quota) -> &'static str {
    match quota {
        Quota::StoredBytes => "Stored bytes",
        Quota::LiveRequests => "Requests that wait or run",
        Quota::RequestsPerSecond => "Requests a second",
        Quota::TokensPerDay => "Tokens today (UTC)",
    }
}

impl CreditsPage<'_> {
    /// The page with the entries behind the one in this row.
    fn entries_after(&self, seq: &i64) -> String {
        let kind = self.kind.map(|kind| format!("&kind={}", kind.as_str())).unwrap_or_default();
        format!("{}/credits?before={seq}{kind}", self.layout.home())
    }

    /// The page with the orders behind the one in this row.
    fn orders_after(&self, seq: &i64) -> String {
        format!("{}/credits?orders_before={seq}", self.layout.home())
    }
}

pages!(CreditsPage<'_>);
