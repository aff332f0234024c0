//! Those who belong to an account, and their keys.

use askama::Template;
use overnight_domain::ids::UserId;
use overnight_domain::roles::Role;

use super::chrome::pages;
use super::format::filters;
use super::{Chrome, Section};
use crate::app::accounts::Account;
use crate::app::api_keys::ApiKey;
use crate::app::invitations::Invitation;
use crate::app::members::Member;
use crate::app::sessions::{Link, Session};
use crate::app::users::User;

/// The members of an account.
#[derive(Template)]
#[template(path = "console/account.html")]
pub(crate) struct AccountPage<'a> {
    pub(crate) chrome: Chrome,
    pub(crate) account: &'a Account,
    pub(crate) members: Vec<Member>,
    /// Those that wait.
    pub(crate) invitations: Vec<Invitation>,
    /// Who looks.
    pub(crate) own: UserId,
    pub(crate) may_manage: bool,
    /// For somebody who was invited just now.
    pub(crate) link: Option<Link>,
}

/// The API keys of an account.
#[derive(Template)]
#[template(path = "console/keys.html")]
pub(crate) struct KeysPage<'a> {
    pub(crate) chrome: Chrome,
    pub(crate) may_work: bool,
    /// The key that was made just now: the only time that it is shown.
    pub(crate) made: Option<&'a str>,
    pub(crate) keys: Vec<ApiKey>,
    /// Where the API is.
    pub(crate) url: String,
    pub(crate) model: &'a str,
    pub(crate) now: i64,
}

impl KeysPage<'_> {
    fn is_live(&self, key: &ApiKey) -> bool {
        key.revoked_at.is_none() && key.expires_at.is_none_or(|expires_at| expires_at > self.now)
    }
}

/// How the visitor signs in, and where they are signed in.
#[derive(Template)]
#[template(path = "console/you.html")]
pub(crate) struct YouPage<'a> {
    pub(crate) chrome: Chrome,
    pub(crate) user: &'a User,
    /// The session that looks.
    pub(crate) current: [u8; 32],
    pub(crate) sessions: Vec<Session>,
    pub(crate) accounts: Vec<(Account, Role)>,
    /// Whether the current password is wanted for another.
    pub(crate) asks_current: bool,
}

pages!(AccountPage<'_>, KeysPage<'_>, YouPage<'_>);
