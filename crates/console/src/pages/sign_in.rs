use askama::Template;
use overnight_app::accounts::Account;
use overnight_app::users::User;
use overnight_app::users::invitations::Invitation;

use super::Assets;

#[derive(Template)]
#[template(path = "sign_in.html")]
pub(crate) struct SignInPage<'a> {
    pub base: &'a str,
    pub assets: &'a Assets,
    /// The path that the visitor requested.
    pub next: &'a str,
    pub email: &'a str,
    /// The OpenID provider's name, and the path of its sign-in.
    pub provider: Option<(&'a str, String)>,
    pub refused: Option<String>,
}

/// The page of a link that signs a user in once.
#[derive(Template)]
#[template(path = "link.html")]
pub(crate) struct LinkPage<'a> {
    pub base: &'a str,
    pub assets: &'a Assets,
    pub token: &'a str,
    /// `None` if the link has expired or was used.
    pub user: Option<&'a User>,
    pub refused: Option<String>,
}

#[derive(Template)]
#[template(path = "invitation.html")]
pub(crate) struct InvitationPage<'a> {
    pub base: &'a str,
    pub assets: &'a Assets,
    pub token: &'a str,
    /// `None` if the invitation no longer works.
    pub found: Option<(&'a Account, &'a Invitation)>,
    pub user: Option<&'a User>,
    pub refused: Option<String>,
}
