//! The console over a real socket: sign-in, the rights of each role, and its protections.

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

use overnight_app::accounts::{self, Account, members};
use overnight_app::sessions::{self, User};
use overnight_app::users::{self, Standing};
use overnight_domain::roles::Role;

pub(crate) use self::browser::Browser;
use crate::support::{Answered, TestApp};

const PASSWORD: &str = "correct horse battery";

pub(crate) async fn both_accounts(app: &TestApp) -> [Account; 2] {
    accounts::list(&app.services).await.unwrap().try_into().unwrap()
}

async fn link(app: &TestApp, user: &User) -> String {
    let url = sessions::make_link(&app.services, user).await.unwrap().url;
    url.strip_prefix(&app.services.config().public_address("")).unwrap().to_owned()
}

pub(crate) async fn signed_in(app: &TestApp, user: &User) -> Browser {
    let mut browser = Browser::new(app);
    let answered = browser.post(&link(app, user).await, &[]).await;
    assert_eq!(answered.status, 303, "{}", answered.text());
    browser
}

pub(crate) async fn operator(app: &TestApp) -> Browser {
    signed_in(app, &users::create(&app.services, "op@example.com", Standing::Operator).await.unwrap()).await
}

pub(crate) async fn member(app: &TestApp, account: &Account, email: &str, role: Role) -> Browser {
    let user = users::create(&app.services, email, Standing::Ordinary).await.unwrap();
    members::add(&app.services, account, &user, role).await.unwrap();
    signed_in(app, &user).await
}

pub(crate) async fn visit(email: &str, role: Role) -> (TestApp, Account, Browser) {
    let app = TestApp::start().await;
    let account = app.own().await;
    let browser = member(&app, &account, email, role).await;
    (app, account, browser)
}

/// Creates a user with [`PASSWORD`]; returns the browser in which it was chosen.
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
