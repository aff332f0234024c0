//! Credits, holds, spending and quotas of an account.

use askama::Template;
use overnight_app::accounts::quotas::QuotaStanding;
use overnight_app::accounts::{Account, Entry};
use overnight_app::payments::Payment;
use overnight_app::usage::{UsageRecord, UsedKey};
use overnight_domain::money::{Credits, EntryKind};
use overnight_domain::quotas::Quota;

use super::chart::Chart;
use super::format::filters;
use super::layout::pages;
use super::lists::NextPage;
use super::{Layout, Section};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ModelSpend {
    pub model: String,
    pub requests: i64,
    pub prompt_tokens: i64,
    pub completion_tokens: i64,
    pub amount: Credits,
}

/// `None`: without an API key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KeySpend {
    pub key: Option<UsedKey>,
    pub requests: i64,
    pub amount: Credits,
}

impl From<UsageRecord> for KeySpend {
    fn from(UsageRecord { api_key, requests, amount, .. }: UsageRecord) -> Self {
        Self { key: api_key, requests, amount }
    }
}

#[derive(Template)]
#[template(path = "credits.html")]
pub(crate) struct CreditsPage<'a> {
    pub layout: Layout,
    pub account: &'a Account,
    /// Whether requests cost credits.
    pub is_billed: bool,
    /// Whether credits can be bought here.
    pub is_payable: bool,
    pub may_manage: bool,
    pub quotas: [QuotaRow; Quota::ALL.len()],
    /// The period of `spend` and `chart`.
    pub days: u32,
    pub spend: Vec<ModelSpend>,
    pub keys: Vec<KeySpend>,
    /// Whether keys with less spending are omitted.
    pub has_more_keys: bool,
    /// Spending per day.
    pub chart: Chart,
    pub entries: Vec<Entry>,
    /// `None`: all kinds.
    pub kind: Option<EntryKind>,
    pub next_entries: NextPage<i64>,
    /// Whether the page begins with the newest entry.
    pub is_first: bool,
    pub payments: Vec<Payment>,
    pub next_orders: NextPage<i64>,
    /// The payment page and the credits of a new order.
    pub checkout: Option<(String, Credits)>,
}

/// An account's use and limit of one resource.
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
    /// The page after the entry in this row.
    fn entries_after(&self, seq: &i64) -> String {
        let kind = self.kind.map(|kind| format!("&kind={}", kind.as_str())).unwrap_or_default();
        format!("{}/credits?before={seq}{kind}", self.layout.home())
    }

    /// The page after the order in this row.
    fn orders_after(&self, seq: &i64) -> String {
        format!("{}/credits?orders_before={seq}", self.layout.home())
    }
}

pages!(CreditsPage<'_>);
