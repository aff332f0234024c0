//! The operator's pages: every account, user, engine and model.

use askama::Template;
use overnight_app::accounts::Account;
use overnight_app::sessions::Link;
use overnight_app::users::User;

use super::format::filters;
use super::layout::pages;
use super::{EngineRow, Layout, ModelRow, Section};

#[derive(Template)]
#[template(path = "operator.html")]
pub(crate) struct OperatorPage {
    pub layout: Layout,
    pub accounts: Vec<Account>,
    pub users: Vec<User>,
    pub engines: Vec<EngineRow>,
    pub models: Vec<ModelRow>,
    pub started_at: i64,
    pub is_billed: bool,
    /// A new link, and its user.
    pub link: Option<(String, Link)>,
}

impl OperatorPage {
    fn name(user: &User) -> &str {
        user.email.as_deref().unwrap_or("no e-mail address")
    }
}

pages!(OperatorPage);
