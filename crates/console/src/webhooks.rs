//! Webhooks: signing secrets, events, deliveries and replays.

use crate::pages::{EventPage, NextPage, Section, WebhooksPage};
use axum::extract::RawQuery;
use overnight_app::webhooks::{self, EventState};
use overnight_config::Millis;
use overnight_domain::ids::EventKind;
use overnight_domain::roles::Permission;
use url::form_urlencoded;

use super::forms::Form;
use super::replies::{self, PageResult};
use super::visitors::MemberVisit;

const EVENTS: u32 = 50;
const TRIES: u32 = 100;
const HOUR_MS: i64 = 3_600_000;

#[derive(Default)]
struct PageParams {
    state: Option<EventState>,
    before: Option<i64>,
    tested: String,
    refused: Option<String>,
}

/// `GET /console/{account}/webhooks`.
pub(super) async fn page(visit: MemberVisit, RawQuery(query): RawQuery) -> PageResult {
    let mut params = PageParams::default();
    for (name, value) in form_urlencoded::parse(query.unwrap_or_default().as_bytes()) {
        match &*name {
            "state" => params.state = EventState::ALL.into_iter().find(|state| state.as_str() == value),
            "before" => params.before = value.parse().ok(),
            _ => {}
        }
    }
    show(&visit, params).await
}

/// `POST /console/{account}/webhooks/rotate`.
pub(super) async fn rotate(visit: MemberVisit, form: Form) -> PageResult {
    visit.require(Permission::Work)?;
    let overlap = match form.get("overlap") {
        "0" => Millis(0),
        "7d" => Millis(7 * 24 * HOUR_MS),
        _ => Millis(24 * HOUR_MS),
    };
    webhooks::rotate(visit.services(), visit.account.id, overlap, form.key("webhooks/rotate")).await?;
    replies::see_other(&visit.at("webhooks?flash=secret_replaced"))
}

/// `POST /console/{account}/webhooks/test`.
pub(super) async fn test(visit: MemberVisit, form: Form) -> PageResult {
    visit.require(Permission::Work)?;
    let url = form.get("url");
    match webhooks::send_test(visit.services(), visit.account.id, url, form.key("webhooks/test")).await {
        Ok(event) => replies::see_other(&visit.at(&format!("webhooks/{}", event.id))),
        Err(error) => {
            let refused = Some(replies::mendable(error)?);
            show(&visit, PageParams { tested: url.to_owned(), refused, ..PageParams::default() }).await
        }
    }
}

/// `POST /console/{account}/webhooks/replay`: every event that exhausted its schedule is sent again.
pub(super) async fn replay_all(visit: MemberVisit) -> PageResult {
    visit.require(Permission::Work)?;
    webhooks::replay_exhausted(visit.services(), visit.account.id).await?;
    replies::see_other(&visit.at("webhooks?flash=replayed"))
}

/// `GET /console/{account}/webhooks/{event}`.
pub(super) async fn event(visit: MemberVisit) -> PageResult {
    show_event(&visit, None).await
}

/// `POST /console/{account}/webhooks/{event}/replay`.
pub(super) async fn replay(visit: MemberVisit) -> PageResult {
    visit.require(Permission::Work)?;
    let id = visit.id::<EventKind>();
    match webhooks::replay_own(visit.services(), visit.account.key, id).await {
        Ok(_) => replies::see_other(&visit.at(&format!("webhooks/{id}?flash=replayed"))),
        Err(error) => show_event(&visit, Some(replies::mendable(error)?)).await,
    }
}

async fn show_event(visit: &MemberVisit, refused: Option<String>) -> PageResult {
    let (services, key, id) = (visit.services(), visit.account.key, visit.id::<EventKind>());
    let event = webhooks::get_own(services, key, id).await?;
    let mut layout = visit.layout(Section::Webhooks).await?;
    layout.is_live = event.state == EventState::Live;
    layout.refused = refused;
    let mut tries = webhooks::list_own_deliveries(services, key, Some(id), None, TRIES + 1).await?;
    let is_cut = tries.len() > TRIES as usize;
    tries.truncate(TRIES as usize);
    replies::page(&EventPage { layout, may_work: visit.role.may(Permission::Work), event, tries, is_cut })
}

async fn show(visit: &MemberVisit, params: PageParams) -> PageResult {
    let PageParams { state, before, tested, refused } = params;
    let (services, may_work) = (visit.services(), visit.role.may(Permission::Work));
    let mut layout = visit.layout(Section::Webhooks).await?;
    layout.is_live = before.is_none();
    layout.refused = refused;
    let events = webhooks::list_own_events(services, visit.account.key, state, before, EVENTS).await?;
    let page = WebhooksPage {
        layout,
        may_work,
        secrets: if may_work { webhooks::secrets(services, visit.account.id).await? } else { Vec::new() },
        next_page: NextPage::of(events.next, events.looked_through),
        events: events.rows,
        state,
        is_first: before.is_none(),
        tested: &tested,
    };
    replies::page(&page)
}
