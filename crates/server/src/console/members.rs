//! Those who belong to an account.

use askama::Template;
use overnight_domain::ids::UserId;
use overnight_domain::roles::Role;

use super::format::filters;
use super::layout::pages;
use super::{Layout, Section};
use crate::app::accounts::Account;
use crate::app::invitations::Invitation;
use crate::app::members::Member;
use crate::app::sessions::Link;

#[derive(Template)]
#[template(path = "console/account.html")]
pub(crate) struct AccountPage<'a> {
    pub(crate) layout: Layout,
    pub(crate) account: &'a Account,
    pub(crate) members: Vec<Member>,
    pub(crate) invitations: Vec<Invitation>,
    pub(crate) own: UserId,
    pub(crate) may_manage: bool,
    /// For somebody who was invited just now.
    pub(crate) link: Option<Link>,
}

pages!(AccountPage<'_>);
