//! The operator's page: accounts, users, engines, models.

use crate::pages::{Layout, OperatorPage, Section};
use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;
use overnight_app::Services;
use overnight_app::errors::AppError;
use overnight_app::sessions::Link;
use overnight_app::users::Standing;
use overnight_app::{accounts, sessions, users};
use overnight_domain::ids::{AccountId, UserId};
use overnight_domain::money::Credits;

use super::forms::Form;
use super::overview;
use super::replies::{self, PageError, PageResult};
use super::visitors::Visit;
use overnight_http::context::Shared;

/// An operator. For others the page does not exist.
pub(super) struct OperatorVisit(Visit);

impl FromRequestParts<Shared> for OperatorVisit {
    type Rejection = PageError;

    async fn from_request_parts(parts: &mut Parts, context: &Shared) -> Result<Self, PageError> {
        let visit = Visit::from_request_parts(parts, context).await?;
        if visit.visitor.user.is_operator { Ok(Self(visit)) } else { Err(PageError::NoSuchPage) }
    }
}

impl OperatorVisit {
    pub(super) fn services(&self) -> &Services {
        self.0.services()
    }

    pub(super) async fn layout(&self, section: Section) -> Result<Layout, AppError> {
        self.0.layout(section).await
    }

    fn done(&self, flash: &str) -> PageResult {
        replies::see_other(&format!("{}/operator?flash={flash}", self.0.origin.base))
    }

    /// The page with an error, or in its new state.
    async fn conclude<T>(&self, outcome: Result<T, AppError>, flash: &str) -> PageResult {
        match outcome {
            Ok(_) => self.done(flash),
            Err(error) => self.show(None, Some(replies::mendable(error)?)).await,
        }
    }

    async fn show(&self, link: Option<(String, Link)>, refused: Option<String>) -> PageResult {
        let services = self.0.services();
        let mut layout = self.0.layout(Section::Operator).await?;
        layout.is_live = link.is_none();
        layout.refused = refused;
        let page = OperatorPage {
            layout,
            accounts: accounts::list(services).await?,
            users: users::list(services).await?,
            engines: overview::engine_rows(services).await?,
            models: super::models::model_rows(services).await?,
            started_at: services.started_at,
            is_billed: services.config().billing.enabled,
            link,
        };
        replies::page(&page)
    }
}

/// `GET /console/operator`.
pub(super) async fn page(visit: OperatorVisit) -> PageResult {
    visit.show(None, None).await
}

/// `POST /console/operator/accounts`.
pub(super) async fn create_account(visit: OperatorVisit, form: Form) -> PageResult {
    let made = accounts::create(visit.0.services(), form.get("name")).await;
    visit.conclude(made, "account_made").await
}

/// `POST /console/operator/accounts/{account}/activate`.
pub(super) async fn activate(visit: OperatorVisit, Path(account): Path<String>) -> PageResult {
    let activated = accounts::activate(visit.0.services(), account_id(&account)?).await;
    visit.conclude(activated, "activated").await
}

/// `POST /console/operator/accounts/{account}/suspend`.
pub(super) async fn suspend(visit: OperatorVisit, Path(account): Path<String>) -> PageResult {
    let suspended = accounts::suspend(visit.0.services(), account_id(&account)?).await;
    visit.conclude(suspended, "suspended").await
}

/// `POST /console/operator/accounts/{account}/resume`.
pub(super) async fn resume(visit: OperatorVisit, Path(account): Path<String>) -> PageResult {
    let resumed = accounts::resume(visit.0.services(), account_id(&account)?).await;
    visit.conclude(resumed, "resumed").await
}

/// `POST /console/operator/accounts/{account}/grant`.
pub(super) async fn grant(visit: OperatorVisit, Path(account): Path<String>, form: Form) -> PageResult {
    let account = account_id(&account)?;
    let Ok(amount) = form.get("amount").parse::<Credits>() else {
        return visit.show(None, Some("The amount must be a number like 25 or −12.50.".to_owned())).await;
    };
    let granted =
        accounts::grant(visit.0.services(), account, amount, form.filled("source").or(form.filled("once")))
            .await;
    visit.conclude(granted, "granted").await
}

/// `POST /console/operator/users`: creates a user, as an operator or without access to accounts.
pub(super) async fn create_user(visit: OperatorVisit, form: Form) -> PageResult {
    let services = visit.0.services();
    let standing = match form.get("operator") {
        "yes" => Standing::Operator,
        _ => Standing::Ordinary,
    };
    match users::create_with_link(services, form.get("email"), standing, None).await {
        Ok((user, link)) => visit.show(Some((user.email.unwrap_or_default(), link)), None).await,
        Err(error) => visit.show(None, Some(replies::mendable(error)?)).await,
    }
}

/// `POST /console/operator/users/{user}/link`.
pub(super) async fn link_user(visit: OperatorVisit, Path(user): Path<String>) -> PageResult {
    let user = users::get(visit.0.services(), user_id(&user)?).await?;
    let link = sessions::make_link(visit.0.services(), &user).await?;
    let name = user.email.unwrap_or_else(|| "the operator".to_owned());
    visit.show(Some((name, link)), None).await
}

/// `POST /console/operator/users/{user}/remove`.
pub(super) async fn remove_user(visit: OperatorVisit, Path(user): Path<String>) -> PageResult {
    let user = user_id(&user)?;
    if user == visit.0.visitor.user.id {
        let refused = "Nobody removes themselves: another operator can, or `overnight user remove`.";
        return visit.show(None, Some(refused.to_owned())).await;
    }
    visit.conclude(users::remove(visit.0.services(), user).await, "user_removed").await
}

fn account_id(text: &str) -> Result<AccountId, PageError> {
    AccountId::parse(text).ok_or(PageError::NoSuchPage)
}

fn user_id(text: &str) -> Result<UserId, PageError> {
    UserId::parse(text).ok_or(PageError::NoSuchPage)
}
