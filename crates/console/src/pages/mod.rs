//! The console's pages: each is a struct of its data and a template in `templates/`. Nothing here reads or changes state. All data
//! is shown as text: templates escape it, and no filter disables that.

mod audit_log;
mod batches;
mod chart;
mod credits;
mod format;
mod keys;
mod layout;
mod lists;
mod members;
mod models;
mod new;
mod operator;
mod overview;
mod prompt;
mod requests;
mod sign_in;
mod timeline;
mod webhooks;
mod you;

pub(crate) use self::audit_log::AuditLogPage;
pub(crate) use self::batches::{BatchPage, BatchesPage};
pub(crate) use self::chart::{Chart, Series};
pub(crate) use self::credits::{CreditsPage, KeySpend, ModelSpend};
pub(crate) use self::format::{Money, thousands};
pub(crate) use self::keys::KeysPage;
pub(crate) use self::layout::{AccountBadge, Assets, ErrorPage, Layout, NoAccountPage, Page, Section, flash};
pub(crate) use self::lists::{ListParams, NextPage};
pub(crate) use self::members::AccountPage;
pub(crate) use self::models::{ModelRow, ModelsPage, PlaygroundPage};
pub(crate) use self::new::NewPage;
pub(crate) use self::operator::OperatorPage;
pub(crate) use self::overview::{Activity, ActivityRow, EngineRow, OverviewPage, Period};
pub(crate) use self::prompt::{Answer, Prompt};
pub(crate) use self::requests::{RequestPage, RequestsPage};
pub(crate) use self::sign_in::{InvitationPage, LinkPage, SignInPage};
pub(crate) use self::webhooks::{EventPage, WebhooksPage};
pub(crate) use self::you::YouPage;
