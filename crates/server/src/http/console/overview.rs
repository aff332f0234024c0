//! How the account stands.

use std::collections::BTreeMap;

use overnight_domain::activity::{ActivityRecord, quarter_of};

use super::replies::{self, PageResult};
use super::visitors::MemberVisit;
use crate::app::Services;
use crate::app::engines::{self, EngineReport};
use crate::app::errors::AppError;
use crate::app::{activity, batches, forecasts, overview, requests};
use crate::console::{Chart, EngineRow, OverviewPage, Section};

/// How far the charts look back, in hours.
const HOURS: u32 = 24;

const QUARTERS: usize = 4 * HOURS as usize;
const BATCHES: u32 = 5;

/// `GET /console/{account}`.
pub(super) async fn page(visit: MemberVisit) -> PageResult {
    let services = visit.services();
    // To the minute: what is shown is not to differ from second to second.
    let (account, now) = (&visit.account, minute(services.clock.now()));
    let mut layout = visit.layout(Section::Overview).await?;
    layout.is_live = true;
    let standing = overview::get(services, account.key).await?;
    let records = activity::list(services, account.key, HOURS).await?;
    let live = standing.waiting + standing.in_progress;
    let batches = batches::newest_unfinished_first(services, account.key, BATCHES).await?;
    let is_new = live == 0 && records.is_empty() && batches.is_empty() && {
        let any = requests::browse(services, account.key, &requests::BrowseQuery::default()).await?;
        any.rows.is_empty()
    };
    let page = OverviewPage {
        is_billed: services.config.billing.enabled,
        completed_at: forecasts::of_account(services, account.key).await?.map(minute),
        ended: chart(&records, now, |it| it.completed + it.failed + it.cancelled),
        tokens: chart(&records, now, |it| it.prompt_tokens.saturating_add(it.completion_tokens)),
        spent: chart(&records, now, |it| it.amount),
        engines: engine_rows(services).await?,
        url: services.config.public_address("/v1"),
        model: services.models.iter().next().map_or("", |model| &model.config.name),
        layout,
        account,
        standing,
        now,
        batches,
        is_new,
    };
    replies::page(&page)
}

/// The minute that a time lies in, in milliseconds.
pub(super) const fn minute(time: i64) -> i64 {
    time - time.rem_euclid(60_000)
}

fn chart(records: &[ActivityRecord], now: i64, value: impl Fn(&ActivityRecord) -> i64) -> Chart {
    let first = quarter_of(now) - QUARTERS as i64 + 1;
    let mut values = [0_i64; QUARTERS];
    for record in records {
        let place = usize::try_from(record.quarter - first).ok();
        if let Some(sum) = place.and_then(|place| values.get_mut(place)) {
            *sum = sum.saturating_add(value(record));
        }
    }
    Chart::of(&values)
}

/// The engines by name: of processes that share one, what the one says that drives it.
pub(super) async fn engine_rows(services: &Services) -> Result<Vec<EngineRow>, AppError> {
    let mut named: BTreeMap<String, EngineReport> = BTreeMap::new();
    for report in engines::list(services).await? {
        let known = named.get(&report.engine.name);
        if known.is_none_or(|known| !known.engine.is_driven) {
            named.insert(report.engine.name.clone(), report);
        }
    }
    Ok(named.into_values().map(row).collect())
}

fn row(report: EngineReport) -> EngineRow {
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
        paused_until,
        reason,
    }
}
