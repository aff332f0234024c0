//! How an account stands, and what is asked for next.

use askama::Template;
use overnight_domain::money::Credits;

use super::chart::Chart;
use super::chrome::pages;
use super::format::filters;
use super::{Chrome, Section};
use crate::app::accounts::Account;
use crate::app::batches::BatchRow;
use crate::app::overview::Standing;
use crate::app::submissions::Checked;

/// How an engine stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EngineRow {
    pub(crate) name: String,
    pub(crate) models: String,
    /// The process that drives it, if any does.
    pub(crate) node: Option<String>,
    pub(crate) in_flight: i64,
    pub(crate) max_concurrency: i64,
    pub(crate) is_paused: bool,
    /// When a paused one is tried again.
    pub(crate) paused_until: Option<i64>,
    pub(crate) reason: Option<String>,
}

/// The first page of an account.
#[derive(Template)]
#[template(path = "console/overview.html")]
pub(crate) struct OverviewPage<'a> {
    pub(crate) chrome: Chrome,
    pub(crate) account: &'a Account,
    pub(crate) is_billed: bool,
    pub(crate) standing: Standing,
    pub(crate) done_by: Option<i64>,
    pub(crate) now: i64,
    /// Per quarter of an hour, over a day.
    pub(crate) ended: Chart,
    pub(crate) tokens: Chart,
    /// In nano-credits.
    pub(crate) spent: Chart,
    pub(crate) batches: Vec<BatchRow>,
    pub(crate) engines: Vec<EngineRow>,
    /// Whether nothing was ever asked of this account.
    pub(crate) is_new: bool,
    pub(crate) url: String,
    pub(crate) model: &'a str,
}

impl OverviewPage<'_> {
    fn spent_peak(&self) -> String {
        self.chrome.money.show(Credits::from_nanos(self.spent.peak))
    }

    fn spent_total(&self) -> String {
        self.chrome.money.show(Credits::from_nanos(self.spent.total))
    }

    fn driven(&self) -> usize {
        self.engines.iter().filter(|engine| engine.node.is_some() && !engine.is_paused).count()
    }
}

/// Where many requests are sent at once.
#[derive(Template)]
#[template(path = "console/new.html")]
pub(crate) struct NewPage<'a> {
    pub(crate) chrome: Chrome,
    pub(crate) may_work: bool,
    pub(crate) lines: &'a str,
    pub(crate) name: &'a str,
    pub(crate) webhook: &'a str,
    pub(crate) checked: Option<Checked>,
    /// Whether what was checked was a file that is too long to be sent back, and is to be chosen again.
    pub(crate) is_to_be_chosen_again: bool,
    pub(crate) model: &'a str,
    pub(crate) url: String,
}

impl NewPage<'_> {
    /// Whether the account can pay for what was checked.
    fn is_payable(&self) -> bool {
        self.checked.as_ref().is_none_or(|checked| !checked.is_priced || checked.hold <= checked.available)
    }
}

pages!(OverviewPage<'_>, NewPage<'_>);
