//! How an account stands.

use askama::Template;
use overnight_domain::money::Credits;

use super::chart::Chart;
use super::format::filters;
use super::layout::pages;
use super::{Layout, Section};
use crate::app::accounts::Account;
use crate::app::batches::BatchRow;
use crate::app::engines::{EngineProcess, EngineRates, ModelOut, PrefixCacheState};
use crate::app::overview::Standing;

/// How an engine stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EngineRow {
    pub(crate) name: String,
    pub(crate) models: String,
    /// The process that drives it, if any does.
    pub(crate) node: Option<String>,
    pub(crate) in_flight: i64,
    pub(crate) max_concurrency: i64,
    pub(crate) rates: EngineRates,
    pub(crate) prefix_cache: PrefixCacheState,
    pub(crate) is_paused: bool,
    /// When a paused one is tried again.
    pub(crate) paused_until: Option<i64>,
    pub(crate) reason: Option<String>,
    /// When one that is outside its hours opens.
    pub(crate) closed_until: Option<i64>,
    /// How its process is, where the service starts and stops it.
    pub(crate) process: Option<EngineProcess>,
    /// The models of which it is sent nothing, while it is sent others'.
    pub(crate) models_out: Vec<ModelOut>,
}

impl EngineRow {
    /// Whether its process runs, as far as the service starts and stops it.
    pub(crate) fn is_running(&self) -> bool {
        self.process.is_none_or(|process| process.is_running())
    }
}

/// The first page of an account.
#[derive(Template)]
#[template(path = "console/overview.html")]
pub(crate) struct OverviewPage<'a> {
    pub(crate) layout: Layout,
    pub(crate) account: &'a Account,
    pub(crate) is_billed: bool,
    pub(crate) standing: Standing,
    /// When all that lives will probably have been completed.
    pub(crate) completed_at: Option<i64>,
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
        self.layout.money.plain(Credits::from_nanos(self.spent.peak))
    }

    fn spent_total(&self) -> String {
        self.layout.money.plain(Credits::from_nanos(self.spent.total))
    }

    fn driven(&self) -> usize {
        let is_open = |it: &&EngineRow| {
            it.node.is_some() && !it.is_paused && it.closed_until.is_none() && it.is_running()
        };
        self.engines.iter().filter(is_open).count()
    }
}

pages!(OverviewPage<'_>);
