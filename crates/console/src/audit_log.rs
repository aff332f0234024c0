//! Changes by operators and members: an account's own for its owners, and all for operators.

use crate::pages::{AuditLogPage, Layout, NextPage, Section};
use axum::extract::RawQuery;
use overnight_app::Services;
use overnight_app::audit_log::{self, Filter, Place};
use overnight_domain::audit_log::AuditAction;
use overnight_domain::roles::Permission;
use url::form_urlencoded;

use super::operator::OperatorVisit;
use super::replies::{self, PageResult};
use super::visitors::MemberVisit;

const ENTRIES: u32 = 50;
const DAY_MS: i64 = 86_400_000;

/// The filters of a page.
#[derive(Default)]
struct PageParams {
    action: Option<AuditAction>,
    before: Option<Place>,
}

impl PageParams {
    fn read(query: Option<&str>) -> Self {
        let mut params = Self::default();
        for (name, value) in form_urlencoded::parse(query.unwrap_or_default().as_bytes()) {
            match &*name {
                "action" => params.action = AuditAction::parse(&value),
                "before" => params.before = place(&value),
                _ => {}
            }
        }
        params
    }

    fn filter(&self) -> Filter {
        Filter {
            account: None,
            action: self.action,
            since: i64::MIN,
            before: self.before.unwrap_or(Place::END),
        }
    }
}

fn place(text: &str) -> Option<Place> {
    let (created_at, seq) = text.split_once('-')?;
    Some(Place { created_at: created_at.parse().ok()?, seq: seq.parse().ok()? })
}

/// `GET /console/{account}/audit-log`.
pub(super) async fn of_account(visit: MemberVisit, RawQuery(query): RawQuery) -> PageResult {
    visit.require(Permission::Manage)?;
    let layout = visit.layout(Section::AuditLog).await?;
    let params = PageParams::read(query.as_deref());
    let (account, filter) = (visit.account.key, params.filter());
    let entries = if visit.visit.visitor.user.is_operator {
        audit_log::list(visit.services(), &Filter { account: Some(account), ..filter }, ENTRIES).await?
    } else {
        audit_log::list_for_owner(visit.services(), account, &filter, ENTRIES).await?
    };
    replies::page(&page(visit.services(), layout, &params, entries))
}

/// `GET /console/operator/audit-log`.
pub(super) async fn of_service(visit: OperatorVisit, RawQuery(query): RawQuery) -> PageResult {
    let layout = visit.layout(Section::OperatorAuditLog).await?;
    let params = PageParams::read(query.as_deref());
    let entries = audit_log::list(visit.services(), &params.filter(), ENTRIES).await?;
    replies::page(&page(visit.services(), layout, &params, entries))
}

fn page(services: &Services, layout: Layout, params: &PageParams, page: audit_log::Page) -> AuditLogPage {
    AuditLogPage {
        is_of_account: layout.section == Section::AuditLog,
        layout,
        entries: page.entries,
        action: params.action,
        next: NextPage::of(page.next, None),
        days: services.config().audit_log_retention.0 / DAY_MS,
    }
}
