use crate::pages::{AccountPage, Section};
use overnight_app::accounts::members;
use overnight_app::sessions::Link;
use overnight_app::users::invitations;
use overnight_domain::ids::UserKind;
use overnight_domain::roles::{Permission, Role};

use super::forms::Form;
use super::replies::{self, PageError, PageResult};
use super::visitors::MemberVisit;

/// `GET /console/{account}/account`.
pub(super) async fn page(visit: MemberVisit) -> PageResult {
    show(&visit, None, None).await
}

/// `POST /console/{account}/account/members/{user}`: changes the role, or removes the member.
pub(super) async fn change(visit: MemberVisit, form: Form) -> PageResult {
    visit.require(Permission::Manage)?;
    let role = match form.get("role") {
        "none" => None,
        name => Some(Role::parse(name).ok_or(PageError::Unreadable("There is no such role.".into()))?),
    };
    match members::change(visit.services(), &visit.account, visit.id::<UserKind>(), role).await {
        Ok(()) => {
            let flash = if role.is_some() { "member_changed" } else { "member_dismissed" };
            // Members who removed themselves have no access any more.
            let (services, user) = (visit.services(), &visit.visit.visitor.user);
            let is_still = members::account_of(services, user, visit.account.id).await.is_ok();
            let here =
                if is_still { visit.at(&format!("account?flash={flash}")) } else { visit.visit.origin.base };
            replies::see_other(&here)
        }
        Err(error) => show(&visit, None, Some(replies::mendable(error)?)).await,
    }
}

/// The page, with a new link or an error.
pub(super) async fn show(visit: &MemberVisit, link: Option<Link>, refused: Option<String>) -> PageResult {
    let mut layout = visit.layout(Section::Account).await?;
    layout.refused = refused;
    let page = AccountPage {
        layout,
        account: &visit.account,
        invitations: invitations::list(visit.services(), &visit.account).await?,
        members: members::list(visit.services(), &visit.account).await?,
        own: visit.visit.visitor.user.id,
        may_manage: visit.role.may(Permission::Manage),
        link,
    };
    replies::page(&page)
}
