//! The visitor's own data.

use askama::Template;
use overnight_app::accounts::Account;
use overnight_app::sessions::Session;
use overnight_app::users::User;
use overnight_domain::roles::Role;

use super::format::filters;
use super::layout::pages;
use super::{Layout, Section};

/// How the visitor signs in, and their sessions.
#[derive(Template)]
#[template(path = "you.html")]
pub(crate) struct YouPage<'a> {
    pub layout: Layout,
    pub user: &'a User,
    pub current: [u8; 32],
    pub sessions: Vec<Session>,
    pub accounts: Vec<(Account, Role)>,
    /// Whether changing the password needs the current one.
    pub asks_current: bool,
}

pages!(YouPage<'_>);
