//! The first page of a visitor.

use crate::pages::{NoAccountPage, Section};
use overnight_app::accounts::members;

use super::replies::{self, PageResult};
use super::visitors::Visit;

/// `GET /console`: the visitor's first account, or instructions if there is none.
pub(super) async fn first(visit: Visit) -> PageResult {
    let accounts = members::accounts_of(visit.services(), &visit.visitor.user).await?;
    match accounts.first() {
        Some((account, _)) => replies::see_other(&format!("{}/{}", visit.origin.base, account.id)),
        None if visit.visitor.user.is_operator => {
            replies::see_other(&format!("{}/operator", visit.origin.base))
        }
        None => replies::page(&NoAccountPage { layout: visit.layout(Section::You).await? }),
    }
}
