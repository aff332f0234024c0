//! Credits: available, held and spent amounts, and orders.

use std::collections::BTreeMap;

use crate::pages::{Chart, CreditsPage, KeySpend, ModelSpend, Money, NextPage, Section, Series};
use axum::extract::RawQuery;
use overnight_app::accounts::{self, SpendRecord, quotas};
use overnight_app::errors::AppError;
use overnight_app::payments;
use overnight_app::usage;
use overnight_config::ProviderConfig;
use overnight_domain::money::{Credits, EntryKind};
use overnight_domain::roles::Permission;
use url::form_urlencoded;

use super::forms::Form;
use super::replies::{self, PageResult};
use super::visitors::MemberVisit;

/// The period of spending, in days.
const DAYS: u32 = 30;

/// The maximum number of API keys shown.
const KEYS: u32 = 20;

const ENTRIES: u32 = 25;
const ORDERS: u32 = 100;
const DAY_MS: i64 = 86_400_000;

/// Optional parts of a page.
#[derive(Default)]
struct PageParams {
    kind: Option<EntryKind>,
    before: Option<i64>,
    orders_before: Option<i64>,
    checkout: Option<(String, Credits)>,
    refused: Option<String>,
}

/// `GET /console/{account}/credits`.
pub(super) async fn page(visit: MemberVisit, RawQuery(query): RawQuery) -> PageResult {
    let mut params = PageParams::default();
    for (name, value) in form_urlencoded::parse(query.unwrap_or_default().as_bytes()) {
        match &*name {
            "kind" => params.kind = EntryKind::parse(&value),
            "before" => params.before = value.parse().ok(),
            "orders_before" => params.orders_before = value.parse().ok(),
            _ => {}
        }
    }
    show(&visit, params).await
}

/// `POST /console/{account}/credits/top-up`. The answer links to the provider, because forms may not lead there.
pub(super) async fn top_up(visit: MemberVisit, form: Form) -> PageResult {
    visit.require(Permission::Manage)?;
    let Ok(credits) = form.get("amount").parse::<Credits>() else {
        let refused = Some("The amount must be a number like 25 or 12.50.".to_owned());
        return show(&visit, PageParams { refused, ..PageParams::default() }).await;
    };
    let params =
        match payments::top_up(visit.services(), visit.account.id, credits, form.key("credits/top-up")).await
        {
            Ok(top_up) => PageParams { checkout: Some((top_up.url, credits)), ..PageParams::default() },
            Err(error) => PageParams { refused: Some(replies::mendable(error)?), ..PageParams::default() },
        };
    show(&visit, params).await
}

/// `GET /console/{account}/credits/top-up`, for a browser that returns to a form's address: creates no order.
pub(super) async fn not_topped_up(visit: MemberVisit) -> PageResult {
    replies::see_other(&visit.at("credits"))
}

async fn show(visit: &MemberVisit, params: PageParams) -> PageResult {
    let services = visit.services();
    let mut layout = visit.layout(Section::Credits).await?;
    layout.is_live = params.before.is_none() && params.orders_before.is_none() && params.checkout.is_none();
    layout.refused = params.refused;
    let account = &visit.account;
    let entries = accounts::list_entries(services, account, params.kind, params.before, ENTRIES).await?;
    let orders = payments::list(services, account.id, params.orders_before, ORDERS).await?;
    let spent = accounts::list_spend(services, account, DAYS).await?;
    let (keys, has_more_keys) = list_keys(visit).await?;
    let (billing, money) = (&services.config().billing, layout.money);
    let page = CreditsPage {
        layout,
        account,
        is_billed: billing.enabled,
        is_payable: !matches!(billing.provider, ProviderConfig::Manual),
        quotas: quotas::list(services, account).await?.map(Into::into),
        may_manage: visit.role.may(Permission::Manage),
        days: DAYS,
        chart: by_day(&spent, services.clock.now(), money),
        spend: by_model(spent),
        keys,
        has_more_keys,
        next_entries: NextPage::of(entries.next, entries.looked_through),
        entries: entries.rows,
        is_first: params.before.is_none(),
        kind: params.kind,
        next_orders: NextPage::of(orders.next, orders.looked_through),
        payments: orders.rows,
        checkout: params.checkout,
    };
    replies::page(&page)
}

/// The API keys with the highest charges, and whether others are omitted. Live updates omit them.
async fn list_keys(visit: &MemberVisit) -> Result<(Vec<KeySpend>, bool), AppError> {
    if visit.visit.is_look {
        return Ok((Vec::new(), false));
    }
    // One row more shows whether some are omitted.
    let mut keys = usage::list_dearest_keys(visit.services(), visit.account.key, DAYS, KEYS + 1).await?;
    let has_more = keys.len() > KEYS as usize;
    keys.truncate(KEYS as usize);
    Ok((keys.into_iter().map(KeySpend::from).collect(), has_more))
}

fn by_day(spent: &[SpendRecord], now: i64, money: Money) -> Chart {
    let first = now.div_euclid(DAY_MS) - i64::from(DAYS) + 1;
    let mut days = vec![0_i64; DAYS as usize];
    for record in spent {
        let day = usize::try_from(record.day - first).ok().and_then(|place| days.get_mut(place));
        if let Some(day) = day {
            *day = day.saturating_add(record.amount.nanos());
        }
    }
    let series = [Series { class: "done", word: "", values: &days }];
    Chart::of(&series, first * DAY_MS, DAY_MS, |nanos| money.plain(Credits::from_nanos(nanos)))
}

/// The most expensive first.
fn by_model(spent: Vec<SpendRecord>) -> Vec<ModelSpend> {
    let mut models: BTreeMap<String, ModelSpend> = BTreeMap::new();
    for record in spent {
        let sum = models.entry(record.model.clone()).or_insert_with(|| ModelSpend {
            model: record.model,
            requests: 0,
            prompt_tokens: 0,
            completion_tokens: 0,
            amount: Credits::ZERO,
        });
        sum.requests += record.requests;
        sum.prompt_tokens += record.prompt_tokens;
        sum.completion_tokens += record.completion_tokens;
        sum.amount = sum.amount.checked_add(record.amount).unwrap_or(sum.amount);
    }
    let mut models: Vec<ModelSpend> = models.into_values().collect();
    models.sort_by(|a, b| b.amount.cmp(&a.amount).then_with(|| b.requests.cmp(&a.requests)));
    models
}
