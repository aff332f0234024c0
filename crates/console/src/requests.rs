//! Requests: found, shown, cancelled.

use crate::pages::{Answer, ListParams, NextPage, Prompt, RequestPage, RequestsPage, Section};
use axum::extract::RawQuery;
use axum::http::{HeaderValue, header};
use axum::response::Response;
use overnight_app::batches;
use overnight_app::requests::stalls::{self, Audience};
use overnight_app::requests::{self, BrowseQuery};
use overnight_config::Millis;
use overnight_domain::ids::{BatchId, Id, Kind, RequestId, RequestKind};
use overnight_domain::requests::RequestStatus;
use overnight_domain::roles::Permission;
use overnight_wire::native::requests as shapes;
use url::form_urlencoded;

use super::forms::Form;
use super::overview::minute;
use super::replies::{self, PageResult};
use super::visitors::MemberVisit;
use overnight_http::answers;

/// The query of a list: its filters, and its cursor.
pub(super) fn read_query<K: Kind>(query: Option<&str>) -> (ListParams, Option<Id<K>>) {
    let (mut params, mut before) = (ListParams::default(), None);
    for (name, value) in form_urlencoded::parse(query.unwrap_or_default().as_bytes()) {
        match &*name {
            "status" => params.status = value.into_owned(),
            "model" => params.model = value.into_owned(),
            "batch" => params.batch = value.into_owned(),
            "search" => params.search = value.trim().to_owned(),
            "before" => before = Some(Id::parse(&value).unwrap_or(Id::from_bits(0))),
            _ => {}
        }
    }
    (params, before)
}

/// The address of the object whose identifier is the search text.
pub(super) fn named(visit: &MemberVisit, search: &str) -> Option<String> {
    if RequestId::parse(search).is_some() {
        return Some(visit.at(&format!("requests/{search}")));
    }
    BatchId::parse(search).map(|_| visit.at(&format!("batches/{search}")))
}

/// `GET /console/{account}/requests`.
pub(super) async fn list(visit: MemberVisit, RawQuery(query): RawQuery) -> PageResult {
    let (params, before) = read_query::<RequestKind>(query.as_deref());
    if let Some(found) = named(&visit, &params.search) {
        return replies::see_other(&found);
    }
    let services = visit.services();
    let filled = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
    let browsed = BrowseQuery {
        status: RequestStatus::parse(&params.status),
        model: filled(&params.model),
        batch: filled(&params.batch).map(|batch| BatchId::parse(&batch).unwrap_or(Id::from_bits(0))),
        search: filled(&params.search),
        before,
    };
    let found = requests::browse(services, visit.account.key, &browsed).await?;
    let mut layout = visit.layout(Section::Requests).await?;
    // A search that reads much is not repeated each second.
    layout.is_live = before.is_none() && params.search.is_empty();
    // Only failed requests of a batch are grouped, across all pages.
    let is_of_failed =
        browsed.status == Some(RequestStatus::Failed) && browsed.model.is_none() && browsed.search.is_none();
    let failures = match browsed.batch.filter(|_| is_of_failed && !found.rows.is_empty()) {
        Some(batch) => Some(batches::failure_groups(services, visit.account.key, batch).await?),
        None => None,
    };
    let models = services.models();
    let page = RequestsPage {
        failures,
        layout,
        params,
        models: models.iter().flat_map(|model| model.config.names()).collect(),
        next_page: NextPage::of(found.next, found.looked_through),
        rows: found.rows,
        is_first: before.is_none(),
        url: services.config().public_address("/v1"),
    };
    replies::page(&page)
}

/// `GET /console/{account}/requests/{request}`.
pub(super) async fn page(visit: MemberVisit) -> PageResult {
    show(&visit, None).await
}

async fn show(visit: &MemberVisit, refused: Option<String>) -> PageResult {
    let (services, key) = (visit.services(), visit.account.key);
    let record = requests::get_record(services, key, visit.id::<RequestKind>()).await?;
    let mut layout = visit.layout(Section::Requests).await?;
    layout.is_live = !record.summary.state.is_terminal();
    layout.refused = refused;
    let audience = if layout.is_operator { Audience::Operators } else { Audience::Members };
    let prompt = Prompt::read(&record.body);
    let (_, prospect) = requests::get_summary(services, key, record.summary.id).await?;
    let is_running = record.summary.state.status() == RequestStatus::InProgress;
    let stall = match record.summary.state.is_terminal() {
        true => None,
        false => stalls::of_model(services, &prompt.model, audience).await?,
    };
    let page = RequestPage {
        layout,
        answer: record.result.as_deref().map(Answer::read),
        charge: requests::charge_of(services, key, record.summary.id).await?,
        waiting: prospect.waiting,
        trying: if is_running { requests::trying(services, key, record.summary.id).await? } else { None },
        stall,
        completed_at: prospect.completed_at.map(minute),
        handling: requests::handling(services, key, record.summary.id).await?,
        deleted_at: services
            .config()
            .retention
            .and_then(|Millis(retention)| record.summary.deleted_at(retention)),
        now: services.clock.now(),
        prompt,
        record,
        may_work: visit.role.may(Permission::Work),
        url: services.config().public_address("/v1"),
    };
    replies::page(&page)
}

/// `POST /console/{account}/requests/{request}/again`: sends a copy of the request.
pub(super) async fn again(visit: MemberVisit, form: Form) -> PageResult {
    visit.require(Permission::Work)?;
    let id = visit.id::<RequestKind>();
    let key = form.key(&format!("requests/{id}/again"));
    match requests::send_again(visit.services(), visit.account.key, id, key).await {
        Ok(made) => replies::see_other(&visit.at(&format!("requests/{made}?flash=request_sent_again"))),
        Err(error) => show(&visit, Some(replies::mendable(error)?)).await,
    }
}

/// `GET /console/{account}/requests/{request}/record`: the whole record in the API's form.
pub(super) async fn record(visit: MemberVisit) -> PageResult {
    let record = requests::get_record(visit.services(), visit.account.key, visit.id::<RequestKind>()).await?;
    let mut response = answers::ok(|out| shapes::write_full(&record, out));
    attach(&mut response, &format!("{}.json", record.summary.id));
    Ok(response)
}

/// Makes the browser save an answer as a file, whatever its type.
pub(super) fn attach(response: &mut Response, name: &str) {
    if let Ok(disposition) = HeaderValue::try_from(format!("attachment; filename=\"{name}\"")) {
        response.headers_mut().insert(header::CONTENT_DISPOSITION, disposition);
    }
}

/// `POST /console/{account}/requests/{request}/cancel`.
pub(super) async fn cancel(visit: MemberVisit) -> PageResult {
    visit.require(Permission::Work)?;
    let id = visit.id::<RequestKind>();
    let flash = match requests::cancel(visit.services(), visit.account.key, id).await {
        Ok(_) => "request_cancelled",
        Err(overnight_app::errors::AppError::AlreadyEnded { .. }) => "ended_already",
        Err(error) => return Err(error.into()),
    };
    replies::see_other(&visit.at(&format!("requests/{id}?flash={flash}")))
}
