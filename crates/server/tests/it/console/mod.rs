//! The console over a real socket: sign-in, the rights of each role, and how it is guarded.

mod audit_log;
mod browser;
mod forwarded;
mod guard;
mod lists;
mod live;
mod oidc;
mod outages;
mod repeats;
mod requests;
mod roles;
mod searches;
mod sign_in;
mod uploads;
mod work;

use overnight_domain::roles::Role;
use overnight_server::app::accounts::{self, Account};
use overnight_server::app::sessions::{self, User};
use overnight_server::app::users::Standing;
use overnight_server::app::{members, users};

pub(crate) use self::browser::Browser;
use crate::support::{Answered, TestApp};

const PASSWORD: &str = "correct horse battery";

/// The accounts `test` and `stranger`.
pub(crate) async fn both_accounts(app: &TestApp) -> [Account; 2] {
    accounts::list(&app.services).await.unwrap().try_into().unwrap()
}

/// The path of a link that signs a user in.
async fn link(app: &TestApp, user: &User) -> String {
    let url = sessions::make_link(&app.services, user).await.unwrap().url;
    url.strip_prefix(&app.services.config().public_address("")).unwrap().to_owned()
}

/// A browser in which a user is signed in.
pub(crate) async fn signed_in(app: &TestApp, user: &User) -> Browser {
    let mut browser = Browser::new(app);
    let answered = browser.post(&link(app, user).await, &[]).await;
    assert_eq!(answered.status, 303, "{}", answered.text());
    browser
}

/// A browser in which an operator is signed in.
pub(crate) async fn operator(app: &TestApp) -> Browser {
    signed_in(app, &users::create(&app.services, "op@example.com", Standing::Operator).await.unwrap()).await
}

/// A browser in which a new member of an account is signed in.
pub(crate) async fn member(app: &TestApp, account: &Account, email: &str, role: Role) -> Browser {
    let user = users::create(&app.services, email, Standing::Ordinary).await.unwrap();
    members::add(&app.services, account, &user, role).await.unwrap();
    signed_in(app, &user).await
}

/// Makes a user who signs in by [`PASSWORD`]; the browser in which it was chosen.
async fn with_password(app: &TestApp, email: &str) -> Browser {
    let mut browser =
        signed_in(app, &users::create(&app.services, email, Standing::Ordinary).await.unwrap()).await;
    let chosen = browser.post("/console/you", &[("email", email), ("password", PASSWORD)]).await;
    assert_eq!(chosen.status, 303, "{}", chosen.text());
    browser
}

async fn try_password(browser: &mut Browser, email: &str, password: &str) -> Answered {
    browser.post("/console/sign-in", &[("email", email), ("password", password)]).await
}
