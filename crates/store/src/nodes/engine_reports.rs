//! Reports of each process on its configured engine replicas, for people who ask any process.

use serde::{Deserialize, Serialize};

use crate::database::{Row, Value, statements};
use crate::writer::{Job, Operation, WriteClass};
use crate::writes::{WriteOrder, WriteTransaction};
use crate::{Store, StoreError};

/// A process's view of an engine replica.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineState {
    /// As in the process's settings.
    pub name: String,
    /// By our names.
    pub models: Vec<String>,
    /// Whether this process sends to it; of the processes that share it, one does.
    pub is_driven: bool,
    /// Requests of this process.
    pub in_flight: i64,
    pub max_concurrency: i64,
    /// Why it is paused, if it is and within its hours.
    pub pause: Option<EnginePause>,
    /// In milliseconds, if it is outside its hours. Stored as a pause without a reason.
    pub closed_until: Option<i64>,
    /// Models that it is not sent, while it is sent others.
    pub models_out: Vec<ModelOut>,
    pub rates: EngineRates,
    pub prefix_cache: PrefixCacheState,
    /// If the service starts and stops it.
    pub process: Option<EngineProcess>,
}

impl EngineState {
    /// Now or later.
    pub fn serves(&self, model: &str) -> bool {
        self.models.iter().any(|served| served == model)
    }

    /// Until when and why it is not sent a model; `None` if it is.
    pub fn out_for(&self, model: &str) -> Option<Out<'_>> {
        if let Some(until) = self.closed_until {
            return Some(Out { until: Some(until), why: Why::Closed });
        }
        if let Some(EnginePause { until, reason }) = &self.pause {
            return Some(Out { until: *until, why: Why::Paused(reason) });
        }
        if let Some(process) = self.process.filter(|process| !process.is_running()) {
            return Some(Out { until: process.ready_at, why: Why::Stopped });
        }
        let out = self.models_out.iter().find(|it| it.model == model && !it.is_busy);
        out.map(|it| Out { until: it.until, why: it.why() })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Out<'a> {
    /// In milliseconds; `None` if unknown.
    pub until: Option<i64>,
    pub why: Why<'a>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Why<'a> {
    Closed,
    OverBudget,
    Paused(&'a str),
    /// The service starts it on demand, and it is not running or not ready.
    Stopped,
}

/// The process of an engine that the service starts and stops, or the model of an engine that holds one at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct EngineProcess {
    pub status: EngineProcessStatus,
    /// When a starting one will be ready, in milliseconds, judging by its last start; `None` if unknown.
    pub ready_at: Option<i64>,
    /// Whether this is a model that the engine loads, and not a process.
    pub is_model: bool,
}

impl EngineProcess {
    pub fn is_running(&self) -> bool {
        self.status == EngineProcessStatus::Running
    }

    /// Its status in a word or two.
    pub fn words(&self) -> &'static str {
        match self.status {
            EngineProcessStatus::Stopped if self.is_model => "not loaded",
            EngineProcessStatus::Starting if self.is_model => "loading",
            EngineProcessStatus::Running if self.is_model => "loaded",
            EngineProcessStatus::Stopping if self.is_model => "finishing",
            status => status.as_str(),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EngineProcessStatus {
    Stopped,
    Starting,
    Running,
    /// Requests in flight are finished, or the process is being ended.
    Stopping,
}

impl EngineProcessStatus {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Stopped => "stopped",
            Self::Starting => "starting",
            Self::Running => "running",
            Self::Stopping => "stopping",
        }
    }
}

/// A model that an engine is not sent, or not for some accounts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelOut {
    pub model: String,
    /// In milliseconds.
    pub until: Option<i64>,
    /// For the operator: why it is paused, or the message of an engine without room; `None` outside its hours and over its budget.
    pub reason: Option<String>,
    pub is_over_budget: bool,
    /// Whether the engine had no room for requests of some accounts and has completed none since: these accounts wait, and requests of
    /// others are sent.
    pub is_busy: bool,
}

impl ModelOut {
    pub fn why(&self) -> Why<'_> {
        match &self.reason {
            Some(reason) => Why::Paused(reason),
            None if self.is_over_budget => Why::OverBudget,
            None => Why::Closed,
        }
    }

    /// In a word or two, without the reason.
    pub fn state(&self) -> &'static str {
        match self.why() {
            _ if self.is_busy => "busy",
            Why::Paused(_) => "paused",
            Why::OverBudget => "over its daily budget",
            Why::Closed | Why::Stopped => "outside its hours",
        }
    }
}

/// Over about the last minute.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EngineRates {
    /// Of prompts and completions, to two digits; `None` if the process does not drive it, or has just begun.
    pub tokens_per_second: Option<i64>,
    /// Percentage of prompt tokens found in its prefix cache; `None` without prompts, or if it does not report this.
    pub cache_hit_percent: Option<i64>,
}

/// A process's view of a replica's prefix cache. Figures have two digits, to limit the number of reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct PrefixCacheState {
    /// Its size in bytes of request bodies; `None` if unknown.
    pub body_bytes: Option<u64>,
    /// Mean bytes that an answer takes of these.
    pub answer_bytes: u64,
    /// Percentage of tokens of the last thousand or two prompts that it would hold if requests were sent in order of arrival; `None` if
    /// unknown.
    pub fifo_hit_percent: Option<i64>,
    /// Prompt tokens that it held beyond that, since the process began; `None` if unknown.
    pub saved_tokens: Option<i64>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnginePause {
    /// In milliseconds; `None` if unknown.
    pub until: Option<i64>,
    /// For the operator; may be the engine's words.
    pub reason: String,
}

/// A process's latest report on an engine replica.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineReport {
    pub node: String,
    /// In milliseconds by its clock. It reports changes, and occasionally otherwise.
    pub reported_at: i64,
    pub engine: EngineState,
}

/// Stores this process's reports at `now`; reports of processes that are gone are deleted.
pub async fn report(store: &Store, engines: Vec<EngineState>, now: i64) -> Result<(), StoreError> {
    store.writer().write(ReportEngines { engines, now }).await
}

pub(crate) struct ReportEngines {
    engines: Vec<EngineState>,
    now: i64,
}

statements! {
    /// Skips rows that another process is deleting.
    FORGET = {
        sqlite: "DELETE FROM engine_reports WHERE node NOT IN (SELECT seq FROM nodes)",
        postgres: "DELETE FROM engine_reports WHERE (node, name) IN (
            SELECT e.node, e.name FROM engine_reports e
            WHERE NOT EXISTS (SELECT 1 FROM nodes n WHERE n.seq = e.node) FOR UPDATE SKIP LOCKED)",
    };
    STORE over [Integer, Text, Integer, Text, Integer, Integer, Integer, Integer, Text, Integer,
                Integer, Text, Text, Text] = {
        sqlite: "INSERT INTO engine_reports
                (node, name, reported_at, models, is_driven, in_flight, max_concurrency, paused_until, reason,
                 tokens_per_second, cache_hit_percent, models_out, prefix_cache, process)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)
            ON CONFLICT (node, name) DO UPDATE SET reported_at = excluded.reported_at, models = excluded.models,
                is_driven = excluded.is_driven, in_flight = excluded.in_flight,
                max_concurrency = excluded.max_concurrency, paused_until = excluded.paused_until,
                reason = excluded.reason, tokens_per_second = excluded.tokens_per_second,
                cache_hit_percent = excluded.cache_hit_percent, models_out = excluded.models_out,
                prefix_cache = excluded.prefix_cache, process = excluded.process",
        postgres: "INSERT INTO engine_reports
                (node, name, reported_at, models, is_driven, in_flight, max_concurrency, paused_until, reason,
                 tokens_per_second, cache_hit_percent, models_out, prefix_cache, process)
            SELECT * FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::text[], $5::bigint[], $6::bigint[],
                                 $7::bigint[], $8::bigint[], $9::text[], $10::bigint[], $11::bigint[],
                                 $12::text[], $13::text[], $14::text[])
            ON CONFLICT (node, name) DO UPDATE SET reported_at = excluded.reported_at, models = excluded.models,
                is_driven = excluded.is_driven, in_flight = excluded.in_flight,
                max_concurrency = excluded.max_concurrency, paused_until = excluded.paused_until,
                reason = excluded.reason, tokens_per_second = excluded.tokens_per_second,
                cache_hit_percent = excluded.cache_hit_percent, models_out = excluded.models_out,
                prefix_cache = excluded.prefix_cache, process = excluded.process",
    };
    LIST = "SELECT n.name AS node, e.reported_at, e.name, e.models, e.is_driven, e.in_flight, e.max_concurrency,
               e.paused_until, e.reason, e.tokens_per_second, e.cache_hit_percent, e.models_out, e.prefix_cache,
               e.process
        FROM engine_reports e JOIN nodes n ON n.seq = e.node ORDER BY e.name, n.name, e.node";
}

impl Operation for ReportEngines {
    type Answer = ();
    const CLASS: WriteClass = WriteClass::Control;
    const ORDER: WriteOrder = WriteOrder::ReportEngines;

    fn rows(&self) -> usize {
        self.engines.len()
    }

    async fn apply(jobs: &[Job<Self>], write: &mut WriteTransaction<'_>) -> Result<Vec<()>, StoreError> {
        write.tx.execute(FORGET.unbound()).await?;
        for Job { operation, .. } in jobs {
            let node = write.node.key;
            let values = operation.engines.iter().flat_map(|engine| operation.row(node, engine)).collect();
            write.tx.execute(STORE.over([], values)).await?;
        }
        Ok(vec![(); jobs.len()])
    }
}

impl ReportEngines {
    fn row(&self, node: i64, engine: &EngineState) -> [Value; 14] {
        let pause = engine.pause.as_ref();
        let models_out = Some(&engine.models_out).filter(|it| !it.is_empty());
        let prefix_cache = Some(&engine.prefix_cache).filter(|it| **it != PrefixCacheState::default());
        [
            node.into(),
            engine.name.as_str().into(),
            self.now.into(),
            engine.models.join("\n").as_str().into(),
            engine.is_driven.into(),
            engine.in_flight.into(),
            engine.max_concurrency.into(),
            pause.map_or(engine.closed_until, |pause| pause.until).into(),
            pause.map(|pause| pause.reason.clone()).into(),
            engine.rates.tokens_per_second.into(),
            engine.rates.cache_hit_percent.into(),
            models_out.and_then(|it| serde_json::to_string(it).ok()).into(),
            prefix_cache.and_then(|it| serde_json::to_string(it).ok()).into(),
            engine.process.as_ref().and_then(|it| serde_json::to_string(it).ok()).into(),
        ]
    }
}

/// Latest reports of live processes, by name of the replica.
pub async fn list(store: &Store) -> Result<Vec<EngineReport>, StoreError> {
    store.readers().fetch_all(LIST.unbound()).await?.iter().map(read).collect()
}

fn read(row: &Row) -> Result<EngineReport, StoreError> {
    let (until, reason) = (row.get::<Option<i64>>("paused_until")?, row.get::<Option<String>>("reason")?);
    // Skips values of later versions.
    let json = |column| Ok::<_, StoreError>(row.get::<Option<String>>(column)?.unwrap_or_default());
    let (models_out, prefix_cache) = (json("models_out")?, json("prefix_cache")?);
    let process = json("process")?;
    let engine = EngineState {
        name: row.get("name")?,
        models: row.get::<&str>("models")?.lines().map(str::to_owned).collect(),
        is_driven: row.get("is_driven")?,
        in_flight: row.get("in_flight")?,
        max_concurrency: row.get("max_concurrency")?,
        closed_until: until.filter(|_| reason.is_none()),
        pause: reason.map(|reason| EnginePause { until, reason }),
        models_out: serde_json::from_str(&models_out).unwrap_or_default(),
        rates: EngineRates {
            tokens_per_second: row.get("tokens_per_second")?,
            cache_hit_percent: row.get("cache_hit_percent")?,
        },
        prefix_cache: serde_json::from_str(&prefix_cache).unwrap_or_default(),
        process: serde_json::from_str(&process).ok(),
    };
    Ok(EngineReport { node: row.get("node")?, reported_at: row.get("reported_at")?, engine })
}
