//! The members of an account.

use askama::Template;
use overnight_app::accounts::Account;
use overnight_app::accounts::members::Member;
use overnight_app::sessions::Link;
use overnight_app::users::invitations::Invitation;
use overnight_domain::ids::UserId;
use overnight_domain::roles::Role;

use super::format::filters;
use super::layout::pages;
use super::{Layout, Section};

#[derive(Template)]
#[template(path = "account.html")]
pub(crate) struct AccountPage<'a> {
    pub layout: Layout,
    pub account: &'a Account,
    pub members: Vec<Member>,
    pub invitations: Vec<Invitation>,
    pub own: UserId,
    pub may_manage: bool,
    /// Of a new invitation.
    pub link: Option<Link>,
}

pages!(AccountPage<'_>);
