//! Who asks: somebody who is signed in, and as what in which account.

use axum::extract::{FromRequestParts, OriginalUri, RawPathParams};
use axum::http::header;
use axum::http::request::Parts;
use overnight_domain::ids::{AccountId, Id, Kind};
use overnight_domain::roles::{Permission, Role};
use url::form_urlencoded;

use super::assets;
use super::cookies::Cookie;
use super::forms;
use super::live::Look;
use super::replies::PageError;
use crate::app::accounts::Account;
use crate::app::errors::AppError;
use crate::app::sessions::{self, Browser, Visitor};
use crate::app::{Services, batches, members};
use crate::config::ConsoleOrigin;
use crate::console::{Layout, Section};
use crate::http::addresses::caller;
use crate::http::calls;
use crate::http::context::{Peer, Shared};

/// Somebody who is signed in, or not.
pub(super) struct Guest {
    pub(super) context: Shared,
    pub(super) origin: ConsoleOrigin,
    pub(super) visitor: Option<Visitor>,
    pub(super) browser: Browser,
    /// The path and query that were asked for.
    asked: String,
}

/// A signed-in user. Other visitors are redirected to the sign-in page.
pub(super) struct Visit {
    pub(super) context: Shared,
    pub(super) origin: ConsoleOrigin,
    pub(super) visitor: Visitor,
    /// What the page before says was done.
    flash: Option<String>,
    /// What the forms of the page are named by.
    token: String,
}

/// A member of the account in the path. To others there is no such account.
pub(super) struct MemberVisit {
    pub(super) visit: Visit,
    pub(super) account: Account,
    pub(super) role: Role,
    path: Vec<String>,
}

impl FromRequestParts<Shared> for Guest {
    type Rejection = PageError;

    async fn from_request_parts(parts: &mut Parts, context: &Shared) -> Result<Self, PageError> {
        let origin = context.services.config.console_origin().map_err(|_| PageError::NoSuchPage)?;
        let visitor = match Cookie::session(&origin).read(&parts.headers) {
            Some(token) => {
                let is_active = parts.extensions.get::<Look>().is_none();
                sessions::find(&context.services, token, is_active).await?
            }
            None => None,
        };
        let agent = parts.headers.get(header::USER_AGENT).and_then(|agent| agent.to_str().ok());
        let address = parts
            .extensions
            .get::<Peer>()
            .map(|peer| caller(&context.services.config.console, peer.0.ip(), &parts.headers));
        let asked = parts.extensions.get::<OriginalUri>().and_then(|uri| uri.path_and_query());
        // What was sent is not sent again, and its address shows nothing.
        let asked = asked.filter(|_| parts.method.is_safe()).map_or("", |asked| asked.as_str()).to_owned();
        let mark = Cookie::mark(&origin).read(&parts.headers).map(str::to_owned);
        let browser = Browser { address, agent: agent.map(str::to_owned), mark };
        Ok(Self { context: Shared::clone(context), origin, visitor, browser, asked })
    }
}

impl FromRequestParts<Shared> for Visit {
    type Rejection = PageError;

    async fn from_request_parts(parts: &mut Parts, context: &Shared) -> Result<Self, PageError> {
        let Guest { context, origin, visitor, asked, .. } = Guest::from_request_parts(parts, context).await?;
        let Some(visitor) = visitor else {
            let next: String = form_urlencoded::byte_serialize(asked.as_bytes()).collect();
            return Err(PageError::Elsewhere(format!("{}/sign-in?next={next}", origin.base)));
        };
        let query = parts.uri.query().unwrap_or_default();
        let flash = form_urlencoded::parse(query.as_bytes()).find(|(name, _)| name == "flash");
        let flash = flash.map(|(_, value)| value.into_owned());
        let token = match parts.extensions.get::<Look>() {
            Some(Look(token)) => token.clone(),
            None => forms::token(&context.services.ids.random()),
        };
        Ok(Self { context, origin, visitor, flash, token })
    }
}

impl FromRequestParts<Shared> for MemberVisit {
    type Rejection = PageError;

    async fn from_request_parts(parts: &mut Parts, context: &Shared) -> Result<Self, PageError> {
        let visit = Visit::from_request_parts(parts, context).await?;
        let params =
            RawPathParams::from_request_parts(parts, context).await.map_err(|_| PageError::NoSuchPage)?;
        let path: Vec<String> = params.iter().map(|(_, value)| value.to_owned()).collect();
        let id = path.first().and_then(|text| AccountId::parse(text)).ok_or(PageError::NoSuchPage)?;
        let services = &visit.context.services;
        let (account, role) = members::account_of(services, &visit.visitor.user, id).await?;
        calls::name_account(account.id);
        Ok(Self { visit, account, role, path })
    }
}

impl Visit {
    pub(super) fn services(&self) -> &Services {
        &self.context.services
    }

    /// The layout of a page that belongs to no account.
    pub(super) async fn layout(&self, section: Section) -> Result<Layout, AppError> {
        let accounts = members::accounts_of(self.services(), &self.visitor.user).await?;
        let accounts = accounts.into_iter().map(|(account, _)| (account.id.to_string(), account.name));
        Ok(Layout { accounts: accounts.collect(), ..self.bare_layout(section) })
    }

    fn bare_layout(&self, section: Section) -> Layout {
        let user = &self.visitor.user;
        Layout {
            base: self.origin.base.clone(),
            assets: assets::NAMES.clone(),
            section,
            account: None,
            accounts: Vec::new(),
            user: user.email.clone().unwrap_or_else(|| "operator".to_owned()),
            is_operator: user.is_operator,
            live_batches: 0,
            is_live: false,
            flash: self.flash.as_deref().and_then(crate::console::flash),
            refused: None,
            once: self.token.clone(),
            money: crate::console::Money::of(&self.services().config.billing),
        }
    }
}

impl MemberVisit {
    pub(super) fn services(&self) -> &Services {
        self.visit.services()
    }

    /// Refuses whoever may not.
    pub(super) fn require(&self, permission: Permission) -> Result<(), PageError> {
        self.role.may(permission).then_some(()).ok_or(PageError::NotAllowed(self.role))
    }

    /// The identifier in the path behind the account's. A text that is none becomes the identifier zero, which nothing has.
    pub(super) fn id<K: Kind>(&self) -> Id<K> {
        self.path.get(1).and_then(|text| Id::parse(text)).unwrap_or(Id::from_bits(0))
    }

    /// The address of a page of this account.
    pub(super) fn at(&self, page: &str) -> String {
        format!("{}/{}/{page}", self.visit.origin.base, self.account.id)
    }

    /// The layout of a page of this account.
    pub(super) async fn layout(&self, section: Section) -> Result<Layout, AppError> {
        let mut layout = self.visit.bare_layout(section);
        layout.live_batches = batches::count_live(self.services(), self.account.key).await?;
        layout.account = Some(crate::console::AccountBadge {
            id: self.account.id.to_string(),
            name: self.account.name.clone(),
            role: self.role,
        });
        Ok(layout)
    }
}
