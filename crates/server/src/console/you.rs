//! What belongs to the visitor.

use askama::Template;
use overnight_domain::roles::Role;

use super::format::filters;
use super::layout::pages;
use super::{Layout, Section};
use crate::app::accounts::Account;
use crate::app::sessions::Session;
use crate::app::users::User;

/// How the visitor signs in, and where they are signed in.
#[derive(Template)]
#[template(path = "console/you.html")]
pub(crate) struct YouPage<'a> {
    pub(crate) layout: Layout,
    pub(crate) user: &'a User,
    pub(crate) current: [u8; 32],
    pub(crate) sessions: Vec<Session>,
    pub(crate) accounts: Vec<(Account, Role)>,
    /// Whether the current password is wanted for another.
    pub(crate) asks_current: bool,
}

pages!(YouPage<'_>);
