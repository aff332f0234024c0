//! What the operator sees: every account, user, engine and model.

use askama::Template;

use super::format::filters;
use super::layout::pages;
use super::{EngineRow, Layout, ModelRow, Section};
use crate::app::accounts::Account;
use crate::app::sessions::Link;
use crate::app::users::User;

#[derive(Template)]
#[template(path = "console/operator.html")]
pub(crate) struct OperatorPage {
    pub(crate) layout: Layout,
    pub(crate) accounts: Vec<Account>,
    pub(crate) users: Vec<User>,
    pub(crate) engines: Vec<EngineRow>,
    pub(crate) models: Vec<ModelRow>,
    pub(crate) started_at: i64,
    pub(crate) is_billed: bool,
    /// A link that was made just now, and for whom.
    pub(crate) link: Option<(String, Link)>,
}

impl OperatorPage {
    fn name(user: &User) -> &str {
        user.email.as_deref().unwrap_or("no e-mail address")
    }
}

pages!(OperatorPage);
