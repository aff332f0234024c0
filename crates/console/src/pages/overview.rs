//! The overview of an account.

use askama::Template;
use overnight_app::accounts::Account;
use overnight_app::accounts::overview::Standing;
use overnight_app::batches::BatchRow;
use overnight_app::engines::{EngineProcess, EngineRates, ModelOut, PrefixCacheState};
use overnight_app::requests::stalls::Stall;
use overnight_app::requests::waiting::WaitingReason;
use overnight_domain::money::Credits;

use super::chart::{Chart, line};
use super::format::filters;
use super::layout::pages;
use super::models::ModelRow;
use super::{Layout, Section};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EngineRow {
    pub name: String,
    pub models: String,
    pub node: Option<String>,
    pub in_flight: i64,
    pub max_concurrency: i64,
    pub rates: EngineRates,
    pub prefix_cache: PrefixCacheState,
    pub is_paused: bool,
    /// The next try of a paused engine.
    pub paused_until: Option<i64>,
    pub reason: Option<String>,
    /// When an engine outside its hours opens.
    pub closed_until: Option<i64>,
    /// The state of its process, if the service starts and stops it.
    pub process: Option<EngineProcess>,
    /// Models that are paused while others are not.
    pub models_out: Vec<ModelOut>,
    pub waiting: i64,
    /// Tokens per second in each minute of the last hour.
    pub history: Vec<i64>,
}

impl EngineRow {
    /// The line of the last hour; `None` if too little is known.
    pub(crate) fn spark(&self) -> Option<String> {
        (self.history.len() > 1).then(|| line(&self.history))
    }

    /// The highest rate of the last hour.
    pub(crate) fn peak(&self) -> i64 {
        self.history.iter().copied().max().unwrap_or(0)
    }

    /// Whether its process runs; true if the service does not start it.
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

    pub(crate) const fn hours(self) -> u32 {
        match self {
            Self::Hour => 1,
            Self::Day => 24,
            Self::Week => 168,
        }
    }

    /// How many times five minutes a bar and a row of the table cover.
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

/// The ends in a part of a period.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ActivityRow {
    /// The beginning of the part, in milliseconds.
    pub at: i64,
    pub completed: i64,
    pub failed: i64,
    pub cancelled: i64,
    pub tokens: i64,
    /// In nano-credits.
    pub nanos: i64,
}

impl ActivityRow {
    fn spent(&self) -> Credits {
        Credits::from_nanos(self.nanos)
    }
}

/// The charts of a period, and the same as a table.
pub(crate) struct Activity {
    pub period: Period,
    pub ended: Chart,
    pub tokens: Chart,
    pub spent: Chart,
    /// The parts with ends, the oldest first.
    pub rows: Vec<ActivityRow>,
}

#[derive(Template)]
#[template(path = "overview.html")]
pub(crate) struct OverviewPage<'a> {
    pub layout: Layout,
    pub account: &'a Account,
    pub is_billed: bool,
    pub standing: Standing,
    /// The estimated completion of everything live.
    pub completed_at: Option<i64>,
    pub stalls: Vec<Stall>,
    pub now: i64,
    pub activity: Activity,
    pub batches: Vec<BatchRow>,
    pub engines: Vec<EngineRow>,
    /// The start of this process, for operators.
    pub started_at: i64,
    pub models: Vec<ModelRow>,
    /// Whether the account never had a request.
    pub is_new: bool,
    pub url: String,
    pub model: &'a str,
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
