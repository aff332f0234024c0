//! Invitations: created and withdrawn by owners, and accepted by holders of the link.

use crate::pages::InvitationPage;
use axum::extract::Path;
use axum::http::StatusCode;
use overnight_app::errors::AppError;
use overnight_app::sessions::SignInError;
use overnight_app::users::invitations;
use overnight_domain::roles::{Permission, Role};

use super::forms::Form;
use super::replies::{self, PageResult};
use super::visitors::{Guest, MemberVisit};
use super::{assets, members, sign_in};

/// `POST /console/{account}/account/invitations`.
pub(super) async fn invite(visit: MemberVisit, form: Form) -> PageResult {
    visit.require(Permission::Manage)?;
    let role = Role::parse(form.get("role")).unwrap_or(Role::Viewer);
    match invitations::invite(visit.services(), &visit.account, form.get("email"), role).await {
        Ok(link) => members::show(&visit, Some(link), None).await,
        Err(error) => members::show(&visit, None, Some(replies::mendable(error)?)).await,
    }
}

/// `POST /console/{account}/account/invitations/withdraw`.
pub(super) async fn withdraw(visit: MemberVisit, form: Form) -> PageResult {
    visit.require(Permission::Manage)?;
    invitations::withdraw(visit.services(), &visit.account, form.get("email")).await?;
    replies::see_other(&visit.at("account?flash=withdrawn"))
}

/// `GET /console/invitation/{token}`. Does not use the link up.
pub(super) async fn page(guest: Guest, Path(token): Path<String>) -> PageResult {
    show(&guest, &token, None).await
}

/// `POST /console/invitation/{token}`: a visitor who is not signed in becomes a user first.
pub(super) async fn join(guest: Guest, Path(token): Path<String>, form: Form) -> PageResult {
    let services = &guest.context.services;
    let at = |account: &overnight_app::accounts::Account| {
        format!("{}/{}?flash=joined", guest.origin.base, account.id)
    };
    if let Some(visitor) = &guest.visitor {
        return match invitations::accept(services, &token, &visitor.user).await {
            Ok(account) => replies::see_other(&at(&account)),
            Err(SignInError::App(error)) => Err(error.into()),
            Err(refused) => show(&guest, &token, Some(replies::sentence(&refused.to_string()))).await,
        };
    }
    match invitations::join(services, &token, form.raw("password"), guest.browser.clone()).await {
        Ok((session, account)) => sign_in::let_in(&guest, &session, &at(&account)).await,
        Err(SignInError::App(error @ AppError::Invalid(_))) => {
            show(&guest, &token, Some(replies::mendable(error)?)).await
        }
        Err(SignInError::App(error)) => Err(error.into()),
        Err(_) => show(&guest, &token, None).await,
    }
}

async fn show(guest: &Guest, token: &str, refused: Option<String>) -> PageResult {
    let found = invitations::get(&guest.context.services, token).await;
    let (status, found, refused) = match (found, refused) {
        (Ok(found), None) => (StatusCode::OK, Some(found), None),
        (Ok(found), refused) => (StatusCode::UNPROCESSABLE_ENTITY, Some(found), refused),
        (Err(SignInError::App(error)), _) => return Err(error.into()),
        (Err(error), _) => (StatusCode::FORBIDDEN, None, Some(replies::sentence(&error.to_string()))),
    };
    let user = guest.visitor.as_ref().map(|visitor| &visitor.user);
    let page = InvitationPage {
        base: &guest.origin.base,
        assets: &assets::NAMES,
        token,
        found: found.as_ref().map(|(account, invitation)| (account, invitation)),
        user,
        refused,
    };
    replies::page_with(status, &page)
}
