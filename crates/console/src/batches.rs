//! Batches: found, shown, downloaded, cancelled, sent again.

use crate::pages::{BatchPage, BatchesPage, NextPage, Section};
use axum::extract::RawQuery;
use overnight_app::batches::{self, BrowseQuery};
use overnight_app::errors::AppError;
use overnight_app::requests::stalls::{self, Audience};
use overnight_app::requests::waiting;
use overnight_app::{forecasts, requests, submissions};
use overnight_config::Millis;
use overnight_domain::batches::BatchStatus;
use overnight_domain::ids::BatchKind;
use overnight_domain::requests::RequestState;
use overnight_domain::roles::Permission;
use overnight_wire::native::requests as shapes;

use super::forms::Form;
use super::overview::minute;
use super::replies::{self, PageResult};
use super::requests::{attach, named, read_query};
use super::visitors::MemberVisit;
use overnight_http::json_lines::{self, JSON_LINES};

/// Requests on the page of a batch; the list has all of them.
const ROWS: usize = 25;

/// `GET /console/{account}/batches`.
pub(super) async fn list(visit: MemberVisit, RawQuery(query): RawQuery) -> PageResult {
    let (params, before) = read_query::<BatchKind>(query.as_deref());
    if let Some(found) = named(&visit, &params.search) {
        return replies::see_other(&found);
    }
    let services = visit.services();
    let browsed = BrowseQuery {
        status: BatchStatus::parse(&params.status),
        search: Some(params.search.clone()).filter(|search| !search.is_empty()),
        before,
    };
    let found = batches::browse(services, visit.account.key, &browsed).await?;
    let mut layout = visit.layout(Section::Batches).await?;
    layout.is_live = before.is_none() && params.search.is_empty();
    let page = BatchesPage {
        layout,
        params,
        next_page: NextPage::of(found.next, found.looked_through),
        rows: found.rows,
        is_first: before.is_none(),
        url: services.config().public_address("/v1"),
    };
    replies::page(&page)
}

/// `GET /console/{account}/batches/{batch}`.
pub(super) async fn page(visit: MemberVisit) -> PageResult {
    show(&visit, None).await
}

async fn show(visit: &MemberVisit, refused: Option<String>) -> PageResult {
    let (services, key, id) = (visit.services(), visit.account.key, visit.id::<BatchKind>());
    let record = batches::get_record(services, key, id).await?;
    let browsed = requests::BrowseQuery { batch: Some(id), ..requests::BrowseQuery::default() };
    let mut rows = requests::browse(services, key, &browsed).await?.rows;
    rows.truncate(ROWS);
    let live = record.counters.live();
    let is_live = matches!(record.state.status(), BatchStatus::Registered | BatchStatus::InProgress);
    let mut layout = visit.layout(Section::Batches).await?;
    layout.is_live = live > 0;
    layout.refused = refused;
    let failures = match record.counters.failed {
        0 => None,
        _ => Some(batches::failure_groups(services, key, id).await?),
    };
    let audience = if layout.is_operator { Audience::Operators } else { Audience::Members };
    let stalls = match live {
        0 => Vec::new(),
        _ => stalls::of_batch(services, key, id, audience).await?,
    };
    let waiting = waiting_reason(visit, record.state.status(), &rows).await?;
    let page = BatchPage {
        layout,
        cost: batches::cost_of(services, key, id).await?,
        name: batches::name_of(&record),
        completed_at: if is_live {
            forecasts::of_batch(services, key, &record).await?.map(minute)
        } else {
            None
        },
        waiting,
        stalls,
        record,
        rows,
        failures,
        retention: services.config().retention.map(|Millis(retention)| retention),
        may_work: visit.role.may(Permission::Work),
        url: services.config().public_address("/v1"),
    };
    replies::page(&page)
}

/// Why a batch of which no request has begun waits: the reason of its newest request.
async fn waiting_reason(
    visit: &MemberVisit,
    status: BatchStatus,
    rows: &[requests::RequestRow],
) -> Result<Option<waiting::WaitingReason>, AppError> {
    let waits = |row: &&requests::RequestRow| {
        matches!(row.summary.state, RequestState::Gathering { .. } | RequestState::Queued)
    };
    match rows.iter().find(waits) {
        Some(row) if status == BatchStatus::Registered => {
            waiting::reason(visit.services(), &row.model, &row.summary.state).await
        }
        _ => Ok(None),
    }
}

/// `GET /console/{account}/batches/{batch}/results`.
pub(super) async fn results(visit: MemberVisit) -> PageResult {
    let id = visit.id::<BatchKind>();
    let pages = batches::list_results(visit.services(), visit.account.key, id).await?;
    let mut response =
        json_lines::answer(&visit.visit.context, visit.account.key, pages, JSON_LINES, shapes::write_full)
            .await?;
    attach(&mut response, &format!("{id}.jsonl"));
    Ok(response)
}

/// `POST /console/{account}/batches/{batch}/cancel`.
pub(super) async fn cancel(visit: MemberVisit) -> PageResult {
    visit.require(Permission::Work)?;
    let id = visit.id::<BatchKind>();
    let flash = match batches::cancel(visit.services(), visit.account.key, id).await {
        Ok(_) => "batch_cancelled",
        Err(AppError::AlreadyEnded { .. }) => "ended_already",
        Err(error) => return Err(error.into()),
    };
    replies::see_other(&visit.at(&format!("batches/{id}?flash={flash}")))
}

/// `POST /console/{account}/batches/{batch}/again`: sends the failed requests again as a new batch.
pub(super) async fn again(visit: MemberVisit, form: Form) -> PageResult {
    visit.require(Permission::Work)?;
    let id = visit.id::<BatchKind>();
    let key = form.key(&format!("batches/{id}/again"));
    match submissions::send_again(visit.services(), visit.account.key, id, key).await {
        Ok(made) => replies::see_other(&visit.at(&format!("batches/{}?flash=sent_again", made.id))),
        Err(error) => show(&visit, Some(replies::mendable(error)?)).await,
    }
}
