//! The visitor's own page: credentials and sessions.

use crate::pages::{Section, YouPage};
use axum::response::IntoResponse;
use overnight_app::accounts::members;
use overnight_app::{sessions, users};

use super::forms::Form;
use super::replies::{self, PageError, PageResult};
use super::sign_in;
use super::visitors::Visit;

/// `GET /console/you`.
pub(super) async fn page(visit: Visit) -> PageResult {
    show(&visit, None).await
}

/// `POST /console/you`: changes the e-mail address, the password, or both.
pub(super) async fn change(visit: Visit, form: Form) -> PageResult {
    let known = visit.visitor.user.email.as_deref();
    let email = form.filled("email").filter(|email| Some(*email) != known);
    let password = Some(form.raw("password")).filter(|password| !password.is_empty());
    let changed =
        users::change_credentials(visit.services(), &visit.visitor, form.raw("current"), email, password)
            .await;
    match changed {
        Ok(mark) => {
            let page = format!("{}/you?flash=changed", visit.origin.base);
            let mut response = PageError::Elsewhere(page).into_response();
            sign_in::keep_mark(&visit.origin, mark.as_deref(), &mut response);
            Ok(response)
        }
        Err(error) => show(&visit, Some(replies::mendable(error)?)).await,
    }
}

/// `POST /console/you/sign-out-everywhere`.
pub(super) async fn sign_out_everywhere(visit: Visit) -> PageResult {
    sessions::sign_out_everywhere(visit.services(), &visit.visitor.user, None).await?;
    Ok(sign_in::out(&visit.origin))
}

async fn show(visit: &Visit, refused: Option<String>) -> PageResult {
    let services = visit.services();
    let mut layout = visit.layout(Section::You).await?;
    layout.refused = refused;
    let user = &visit.visitor.user;
    let page = YouPage {
        layout,
        user,
        current: visit.visitor.session.sha256,
        sessions: sessions::list(services, user).await?,
        accounts: members::accounts_of(services, user).await?,
        asks_current: user.has_password && !visit.visitor.came_by_link(services.clock.now()),
    };
    replies::page(&page)
}
