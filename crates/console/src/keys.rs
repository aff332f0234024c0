//! API keys: created, shown once, revoked.

use crate::pages::{KeysPage, Section};
use overnight_app::api_keys::{self, KeyDraft, KeyList};
use overnight_app::usage;
use overnight_domain::api_keys::KeyScope;
use overnight_domain::ids::KeyKind;
use overnight_domain::roles::Permission;

use super::forms::Form;
use super::replies::{self, PageResult};
use super::visitors::MemberVisit;

const DAY_MS: i64 = 86_400_000;

/// The period of spending, in days.
const DAYS: u32 = 30;

/// `GET /console/{account}/keys`.
pub(super) async fn page(visit: MemberVisit) -> PageResult {
    show(&visit, None, None).await
}

/// `POST /console/{account}/keys`: only this answer shows the secret.
pub(super) async fn create(visit: MemberVisit, form: Form) -> PageResult {
    visit.require(Permission::Work)?;
    let expires_in_ms = match form.get("expires") {
        "30d" => Some(30 * DAY_MS),
        "90d" => Some(90 * DAY_MS),
        "365d" => Some(365 * DAY_MS),
        "never" => None,
        _ => return Err(replies::PageError::Unreadable("Say when the key is to expire.".into())),
    };
    let scope = KeyScope::parse(form.filled("scope").unwrap_or(KeyScope::Write.as_str()))
        .ok_or(replies::PageError::Unreadable("Say what the key is for.".into()))?;
    if scope == KeyScope::Admin && !visit.visit.visitor.user.is_operator {
        return Err(replies::PageError::NotAllowed(visit.role));
    }
    let (services, account) = (visit.services(), visit.account.id);
    let draft = KeyDraft { name: Some(form.get("name")), scope, expires_in_ms };
    let made = match form.key("keys") {
        Some(key) => api_keys::create_once(services, account, draft, key).await,
        None => api_keys::create(services, account, draft).await.map(|made| made.key),
    };
    match made {
        Ok(made) => show(&visit, Some(&made), None).await,
        Err(error) => show(&visit, None, Some(replies::mendable(error)?)).await,
    }
}

/// `POST /console/{account}/keys/{key}/revoke`.
pub(super) async fn revoke(visit: MemberVisit) -> PageResult {
    visit.require(Permission::Work)?;
    let key = visit.id::<KeyKind>();
    api_keys::revoke_own(visit.services(), visit.account.key, key).await?;
    replies::see_other(&visit.at("keys?flash=key_revoked"))
}

async fn show(visit: &MemberVisit, made: Option<&str>, refused: Option<String>) -> PageResult {
    let mut layout = visit.layout(Section::Keys).await?;
    layout.is_live = made.is_none();
    layout.refused = refused;
    let services = visit.services();
    let KeyList { mut keys, is_cut } = api_keys::list(services, visit.account.id).await?;
    keys.reverse();
    let spent = usage::list_of_listed_keys(services, visit.account.key, DAYS).await?;
    let models = services.models();
    let page = KeysPage {
        layout,
        may_work: visit.role.may(Permission::Work),
        made,
        keys,
        is_cut,
        days: DAYS,
        spent,
        url: services.config().public_address("/v1"),
        model: models.offered(services.clock.now()).next().map_or("", |model| &model.config.name),
        now: services.clock.now(),
    };
    replies::page(&page)
}
