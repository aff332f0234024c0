//! Visitors: signed-in users, and their roles in accounts.

use crate::pages::{Layout, Section};
use axum::extract::{FromRequestParts, OriginalUri, RawPathParams, Request, State};
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use axum::middleware::Next;
use axum::response::Response;
use overnight_app::accounts::{Account, members};
use overnight_app::errors::AppError;
use overnight_app::sessions::{self, Browser, Visitor};
use overnight_app::{Actor, ActorId, Services, batches};
use overnight_config::ConsoleOrigin;
use overnight_domain::ids::{AccountId, Id, Kind};
use overnight_domain::roles::{Permission, Role};
use url::form_urlencoded;

use super::assets;
use super::cookies::Cookie;
use super::forms;
use super::live::Look;
use super::replies::PageError;
use overnight_http::calls;
use overnight_http::context::{Peer, Shared, caller};

/// A visitor, signed in or not.
pub(super) struct Guest {
    pub(super) context: Shared,
    pub(super) origin: ConsoleOrigin,
    pub(super) visitor: Option<Visitor>,
    pub(super) browser: Browser,
    /// The requested path and query.
    asked: String,
}

/// A signed-in user. Other visitors are redirected to the sign-in page.
pub(super) struct Visit {
    pub(super) context: Shared,
    pub(super) origin: ConsoleOrigin,
    pub(super) visitor: Visitor,
    /// Whether a live page asks, which shows only its changing parts.
    pub(super) is_look: bool,
    /// The message of the previous page's action.
    flash: Option<String>,
    /// The token of the page's forms.
    token: String,
    /// The account whose pages the browser showed last.
    last_account: Option<AccountId>,
}

/// A member of the account in the path. For others the account does not exist.
pub(super) struct MemberVisit {
    pub(super) visit: Visit,
    pub(super) account: Account,
    pub(super) role: Role,
    path: Vec<String>,
}

impl FromRequestParts<Shared> for Guest {
    type Rejection = PageError;

    async fn from_request_parts(parts: &mut Parts, context: &Shared) -> Result<Self, PageError> {
        let origin = context.services.config().console_origin().map_err(|_| PageError::NoSuchPage)?;
        let visitor = match Cookie::session(&origin).read(&parts.headers) {
            Some(token) => {
                let is_active = parts.extensions.get::<Look>().is_none();
                sessions::find(&context.services, token, is_active).await?
            }
            None => None,
        };
        if let Some(visitor) = &visitor {
            Actor::identify(ActorId::User(visitor.user.key));
        }
        let agent = parts.headers.get(header::USER_AGENT).and_then(|agent| agent.to_str().ok());
        let address = parts
            .extensions
            .get::<Peer>()
            .map(|peer| caller(&context.services.config().console, peer.0.ip(), &parts.headers));
        let asked = parts.extensions.get::<OriginalUri>().and_then(|uri| uri.path_and_query());
        // A form is not sent again, and its address shows no page.
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
        let look = parts.extensions.get::<Look>();
        let is_look = look.is_some();
        let token = match look {
            Some(Look(token)) => token.clone(),
            None => forms::token(&context.services.ids.random()),
        };
        let last_account = Cookie::account(&origin).read(&parts.headers).and_then(AccountId::parse);
        Ok(Self { context, origin, visitor, is_look, flash, token, last_account })
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
        let is_operator = visit.visitor.user.is_operator;
        if account.suspended_at.is_some() && !parts.method.is_safe() && !is_operator {
            return Err(PageError::Suspended);
        }
        Ok(Self { visit, account, role, path })
    }
}

impl Visit {
    pub(super) fn services(&self) -> &Services {
        &self.context.services
    }

    /// The layout of a page outside accounts, with the navigation of the last account.
    pub(super) async fn layout(&self, section: Section) -> Result<Layout, AppError> {
        let (services, user) = (self.services(), &self.visitor.user);
        let mut accounts = members::accounts_of(services, user).await?;
        let last = match self.last_account {
            Some(id) => match members::account_of(services, user, id).await {
                Ok(found) => Some(found),
                Err(AppError::NotFound(_)) => None,
                Err(error) => return Err(error),
            },
            None => None,
        };
        match last.or_else(|| (!accounts.is_empty()).then(|| accounts.swap_remove(0))) {
            Some((account, role)) => self.layout_of(section, &account, role).await,
            None => Ok(self.bare_layout(section)),
        }
    }

    /// The layout of a page with the navigation of an account.
    async fn layout_of(&self, section: Section, account: &Account, role: Role) -> Result<Layout, AppError> {
        let mut layout = self.bare_layout(section);
        layout.live_batches = batches::count_live(self.services(), account.key).await?;
        let (id, name) = (account.id.to_string(), account.name.clone());
        layout.account =
            Some(crate::pages::AccountBadge { id, name, role, is_suspended: account.suspended_at.is_some() });
        Ok(layout)
    }

    fn bare_layout(&self, section: Section) -> Layout {
        let user = &self.visitor.user;
        Layout {
            base: self.origin.base.clone(),
            assets: assets::NAMES.clone(),
            section,
            account: None,
            user: user.email.clone().unwrap_or_else(|| "operator".to_owned()),
            is_operator: user.is_operator,
            live_batches: 0,
            is_live: false,
            flash: self.flash.as_deref().and_then(crate::pages::flash),
            refused: None,
            once: self.token.clone(),
            money: crate::pages::Money::of(&self.services().config().billing),
        }
    }
}

impl MemberVisit {
    pub(super) fn services(&self) -> &Services {
        self.visit.services()
    }

    /// Refuses a role without the permission.
    pub(super) fn require(&self, permission: Permission) -> Result<(), PageError> {
        self.role.may(permission).then_some(()).ok_or(PageError::NotAllowed(self.role))
    }

    /// The identifier after the account's in the path. A malformed one becomes zero, which is never found.
    pub(super) fn id<K: Kind>(&self) -> Id<K> {
        self.path.get(1).and_then(|text| Id::parse(text)).unwrap_or(Id::from_bits(0))
    }

    pub(super) fn at(&self, page: &str) -> String {
        format!("{}/{}/{page}", self.visit.origin.base, self.account.id)
    }

    pub(super) async fn layout(&self, section: Section) -> Result<Layout, AppError> {
        self.visit.layout_of(section, &self.account, self.role).await
    }
}

/// Sets the cookie of the last account.
pub(super) async fn remember_account(
    State(context): State<Shared>,
    request: Request,
    next: Next,
) -> Response {
    let id = request.uri().path().split('/').nth(1).and_then(AccountId::parse);
    let (Some(id), Ok(origin)) = (id, context.services.config().console_origin()) else {
        return next.run(request).await;
    };
    let cookie = Cookie::account(&origin);
    let is_known = cookie.read(request.headers()).and_then(AccountId::parse) == Some(id);
    let mut response = next.run(request).await;
    let kept = cookie.set(&id.to_string()).filter(|_| response.status() == StatusCode::OK && !is_known);
    if let Some(kept) = kept {
        response.headers_mut().append(header::SET_COOKIE, kept);
    }
    response
}
