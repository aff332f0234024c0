//! The sign-in page.

use askama::Template;

use super::Assets;
use crate::app::accounts::Account;
use crate::app::invitations::Invitation;
use crate::app::users::User;

/// Where somebody signs in.
#[derive(Template)]
#[template(path = "console/sign_in.html")]
pub(crate) struct SignInPage<'a> {
    pub(crate) base: &'a str,
    pub(crate) assets: &'a Assets,
    /// Where the visitor wanted to go.
    pub(crate) next: &'a str,
    pub(crate) email: &'a str,
    /// What the OpenID provider is called, and where its sign-in begins.
    pub(crate) provider: Option<(&'a str, String)>,
    pub(crate) refused: Option<String>,
}

/// Where a link leads that signs somebody in once.
#[derive(Template)]
#[template(path = "console/link.html")]
pub(crate) struct LinkPage<'a> {
    pub(crate) base: &'a str,
    pub(crate) assets: &'a Assets,
    pub(crate) token: &'a str,
    /// `None` where the link works no more.
    pub(crate) user: Option<&'a User>,
    pub(crate) refused: Option<String>,
}

/// Where an invitation leads.
#[derive(Template)]
#[template(path = "console/invitation.html")]
pub(crate) struct InvitationPage<'a> {
    pub(crate) base: &'a str,
    pub(crate) assets: &'a Assets,
    pub(crate) token: &'a str,
    /// To what it invites, and whom as what; `None` where it works no more.
    pub(crate) found: Option<(&'a Account, &'a Invitation)>,
    pub(crate) user: Option<&'a User>,
    pub(crate) refused: Option<String>,
}
