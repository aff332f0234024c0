//! The overview of an account.

use std::collections::BTreeMap;

use crate::pages::{EngineRow, OverviewPage, Period, Section};
use axum::extract::RawQuery;
use overnight_app::Services;
use overnight_app::accounts::{activity, overview};
use overnight_app::engines::{self, EngineReport};
use overnight_app::errors::AppError;
use overnight_app::requests::stalls::{self, Audience};
use overnight_app::requests::waiting;
use overnight_app::{batches, forecasts, requests};
use url::form_urlencoded;

use super::charts;
use super::models::model_rows;
use super::replies::{self, PageResult};
use super::visitors::MemberVisit;

const BATCHES: u32 = 5;

/// `GET /console/{account}`.
pub(super) async fn page(visit: MemberVisit, RawQuery(query): RawQuery) -> PageResult {
    let services = visit.services();
    // To the minute, so that the page does not change each second.
    let (account, now) = (&visit.account, minute(services.clock.now()));
    let mut layout = visit.layout(Section::Overview).await?;
    layout.is_live = true;
    let standing = overview::get(services, account.key).await?;
    let period = chosen(query.as_deref());
    let records = activity::list(services, account.key, period.unwrap_or(Period::Day).hours()).await?;
    let live = standing.waiting + standing.in_progress;
    let batches = batches::newest_unfinished_first(services, account.key, BATCHES).await?;
    let is_new = live == 0 && records.is_empty() && batches.is_empty() && {
        let any = requests::browse(services, account.key, &requests::BrowseQuery::default()).await?;
        any.rows.is_empty()
    };
    let is_operator = layout.is_operator;
    let audience = if is_operator { Audience::Operators } else { Audience::Members };
    let models = services.models();
    let page = OverviewPage {
        is_billed: services.config().billing.enabled,
        completed_at: forecasts::of_account(services, account.key).await?.map(minute),
        stalls: stalls::of_account(services, account.key, audience).await?,
        activity: charts::activity(&records, now, period, layout.money),
        engines: if is_operator { engine_rows(services).await? } else { Vec::new() },
        started_at: services.started_at,
        models: if is_operator { Vec::new() } else { model_rows(services).await? },
        url: services.config().public_address("/v1"),
        model: models.offered(services.clock.now()).next().map_or("", |model| &model.config.name),
        layout,
        account,
        standing,
        now,
        batches,
        is_new,
    };
    replies::page(&page)
}

/// The period in the query, if there is one.
fn chosen(query: Option<&str>) -> Option<Period> {
    let mut pairs = form_urlencoded::parse(query.unwrap_or_default().as_bytes());
    let (_, hours) = pairs.find(|(name, _)| name == "hours")?;
    Period::ALL.into_iter().find(|period| hours == period.hours().to_string())
}

/// The minute that contains a time, in milliseconds.
pub(super) const fn minute(time: i64) -> i64 {
    time - time.rem_euclid(60_000)
}

/// The engines by name; of processes that share an engine, its driver's report.
pub(super) async fn engine_rows(services: &Services) -> Result<Vec<EngineRow>, AppError> {
    let mut named: BTreeMap<String, EngineReport> = BTreeMap::new();
    for report in engines::list(services).await? {
        let known = named.get(&report.engine.name);
        if known.is_none_or(|known| !known.engine.is_driven) {
            named.insert(report.engine.name.clone(), report);
        }
    }
    let mut rows = Vec::with_capacity(named.len());
    for report in named.into_values() {
        let mut waiting = 0;
        for model in &report.engine.models {
            waiting += waiting::count_of_model(services, model).await?;
        }
        let history = services.engine_history.of(&report.engine.name);
        rows.push(row(report, waiting, history));
    }
    Ok(rows)
}

fn row(report: EngineReport, waiting: i64, history: Vec<i64>) -> EngineRow {
    let EngineReport { node, engine, .. } = report;
    let (paused_until, reason) = match &engine.pause {
        Some(pause) => (pause.until, Some(pause.reason.clone())),
        None => (None, None),
    };
    EngineRow {
        models: engine.models.join(", "),
        node: engine.is_driven.then_some(node),
        in_flight: engine.in_flight,
        max_concurrency: engine.max_concurrency,
        rates: engine.rates,
        prefix_cache: engine.prefix_cache,
        is_paused: engine.pause.is_some(),
        closed_until: engine.closed_until,
        process: engine.process,
        models_out: engine.models_out,
        name: engine.name,
        waiting,
        history,
        paused_until,
        reason,
    }
}
