//! How an account stands.

use askama::Template;
use overnight_domain::money::Credits;

use super::chart::{Chart, line};
use super::format::filters;
use super::layout::pages;
use super::models::ModelRow;
use super::{Layout, Section};
use crate::app::accounts::Account;
use crate::app::batches::BatchRow;
use crate::app::engines::{EngineProcess, EngineRates, ModelOut, PrefixCacheState};
use crate::app::overview::Standing;
use crate::app::stalls::Stall;
use crate::app::waiting::WaitingReason;

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
    /// How many requests wait for its models.
    pub(crate) waiting: i64,
    /// Tokens per second in each minute of the last hour.
    pub(crate) history: Vec<i64>,
}

impl EngineRow {
    /// The line of the last hour; `None` where too little is known.
    pub(crate) fn spark(&self) -> Option<String> {
        (self.history.len() > 1).then(|| line(&self.history))
    }

    /// The highest rate of the last hour.
    pub(crate) fn peak(&self) -> i64 {
        self.history.iter().copied().max().unwrap_or(0)
    }

    /// Whether its process runs, as far as the service starts and stops it.
    pub(crate) fn is_running(&self) -> bool {
        self.process.is_none_or(|process| process.is_running())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Period {
    Hour,
    Day,
    Week,
}

impl Period {
    pub(crate) const ALL: [Self; 3] = [Self::Hour, Self::Day, Self::Week];

    /// How many hours it is, as it stands in the address.
    pub(crate) const fn hours(self) -> u32 {
        match self {
            Self::Hour => 1,
            Self::Day => 24,
            Self::Week => 168,
        }
    }

    /// How many times five minutes a bar stands for, and a row of the table.
    pub(crate) const fn parts(self) -> (usize, usize) {
        match self {
            Self::Hour => (1, 1),
            Self::Day => (6, 12),
            Self::Week => (36, 72),
        }
    }

    pub(super) const fn title(self) -> &'static str {
        match self {
            Self::Hour => "1 h",
            Self::Day => "24 h",
            Self::Week => "7 d",
        }
    }

    pub(super) const fn words(self) -> &'static str {
        match self {
            Self::Hour => "the last hour",
            Self::Day => "the last 24 hours",
            Self::Week => "the last 7 days",
        }
    }

    pub(super) const fn bar(self) -> &'static str {
        match self {
            Self::Hour => "per 5 minutes",
            Self::Day => "per half hour",
            Self::Week => "per 3 hours",
        }
    }
}

/// What ended in a part of a period.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ActivityRow {
    /// When it begins, in milliseconds.
    pub(crate) at: i64,
    pub(crate) completed: i64,
    pub(crate) failed: i64,
    pub(crate) cancelled: i64,
    pub(crate) tokens: i64,
    /// In nano-credits.
    pub(crate) nanos: i64,
}

impl ActivityRow {
    fn spent(&self) -> Credits {
        Credits::from_nanos(self.nanos)
    }
}

/// The charts of a period, and the same as a table.
pub(crate) struct Activity {
    pub(crate) period: Period,
    pub(crate) ended: Chart,
    pub(crate) tokens: Chart,
    pub(crate) spent: Chart,
    /// The parts in which something ended, the oldest first.
    pub(crate) rows: Vec<ActivityRow>,
}

#[derive(Template)]
#[template(path = "console/overview.html")]
pub(crate) struct OverviewPage<'a> {
    pub(crate) layout: Layout,
    pub(crate) account: &'a Account,
    pub(crate) is_billed: bool,
    pub(crate) standing: Standing,
    /// When all that lives will probably have been completed.
    pub(crate) completed_at: Option<i64>,
    pub(crate) stalls: Vec<Stall>,
    pub(crate) now: i64,
    pub(crate) activity: Activity,
    pub(crate) batches: Vec<BatchRow>,
    pub(crate) engines: Vec<EngineRow>,
    /// When this process began, for operators.
    pub(crate) started_at: i64,
    pub(crate) models: Vec<ModelRow>,
    /// Whether nothing was ever asked of this account.
    pub(crate) is_new: bool,
    pub(crate) url: String,
    pub(crate) model: &'a str,
}

impl OverviewPage<'_> {
    fn driven(&self) -> usize {
        let is_open = |it: &&EngineRow| {
            it.node.is_some() && !it.is_paused && it.closed_until.is_none() && it.is_running()
        };
        self.engines.iter().filter(is_open).count()
    }
}

pages!(OverviewPage<'_>);
