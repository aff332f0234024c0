//! API keys: creation, listing, revocation, authentication, and the time of the last use.

mod cache;
mod uses;

use hmac::{Hmac, Mac};
use overnight_domain::api_keys::{self as format, KeyScope};
use overnight_domain::faults::codes;
use overnight_domain::ids::{AccountId, KeyId, KeyKind};
use overnight_domain::scheduler::AccountKey;
use sha2::Sha256;

pub use self::cache::{ApiKeyCache, Opened};
use super::accounts::Account;
use super::errors::AppError;
use super::idempotency::{self, FormKey};
use super::{Services, accounts, names};
use crate::store::StoreError;
use crate::store::idempotency_keys::{Guarded, IdempotencyKey, Once};
use crate::store::identity::api_keys::{self, KeyHolder, NewApiKey};
pub use crate::store::identity::api_keys::{ApiKey, ENDED_LISTED_MAX, KeyList, USABLE_MAX};

const NOUN: &str = "API key";

#[derive(Debug, Clone)]
pub struct MadeKey {
    /// The key itself. It is told this once, and is nowhere kept.
    pub key: String,
    pub record: ApiKey,
}

/// What is known of a key before the store is asked.
#[derive(Debug, Clone, Copy)]
pub enum Presented {
    Opens(Opened),
    /// Only the store knows.
    Unread(UnreadKey),
}

/// A key about which the store is to be asked.
#[derive(Debug, Clone, Copy)]
pub struct UnreadKey {
    sha256: [u8; 32],
    /// Whether it opened an account when the store was asked last.
    pub has_opened: bool,
}

/// What is known of `key` now.
///
/// # Errors
///
/// [`AppError::InvalidApiKey`] for what cannot be a key.
pub fn present(services: &Services, key: &[u8]) -> Result<Presented, AppError> {
    let sha256 = format::hash(key).ok_or(AppError::InvalidApiKey)?;
    let cache = &services.api_key_cache;
    Ok(match cache.find(&sha256, services.clock.now()) {
        Some(opened) => Presented::Opens(opened),
        None => Presented::Unread(UnreadKey { sha256, has_opened: cache.has_opened(&sha256) }),
    })
}

/// The account that a key opens now.
///
/// # Errors
///
/// [`AppError::InvalidApiKey`], whatever is wrong with it; [`AppError::PaymentsNotActivated`] where requests cost credits
/// and the account cannot come by any yet.
pub async fn look_up(services: &Services, key: UnreadKey) -> Result<Opened, AppError> {
    let UnreadKey { sha256, .. } = key;
    let now = services.clock.now();
    let holder = api_keys::find_holder(&services.store, &sha256).await?;
    let holder = holder.filter(|holder| holder.expires_at.is_none_or(|expires_at| expires_at > now));
    // An account is let in from the moment it is activated: until then the store is asked each time.
    let can_pay = |holder: &KeyHolder| {
        // Who administrates activates accounts.
        holder.is_activated || holder.scope == KeyScope::Admin || !services.config().billing.enabled
    };
    let opens = holder.as_ref().filter(|holder| can_pay(holder));
    services.api_key_cache.learn(sha256, opens, now);
    if let Some(KeyHolder { account, requests_per_second_quota: own, .. }) = opens {
        services.rate_limits.learn(*account, *own, &services.store.quotas(), now);
    }
    match holder {
        None => Err(AppError::InvalidApiKey),
        Some(holder) if !can_pay(&holder) => Err(AppError::PaymentsNotActivated),
        Some(holder) => Ok(Opened::by(&holder, sha256)),
    }
}

/// What a key opens by now that let a call in which is not over: as with a new call, what changed is felt within a second.
pub async fn look_again(services: &Services, opened: Opened) -> Result<Opened, AppError> {
    let Opened { sha256, .. } = opened;
    match services.api_key_cache.find(&sha256, services.clock.now()) {
        Some(opened) => Ok(opened),
        None => look_up(services, UnreadKey { sha256, has_opened: true }).await,
    }
}

/// The account of a key that works, whether or not it can pay; `None` for any other key.
pub async fn find_account(services: &Services, key: &str) -> Result<Option<AccountId>, AppError> {
    let Some(sha256) = format::hash(key.as_bytes()) else { return Ok(None) };
    let now = services.clock.now();
    let holder = api_keys::find_holder(&services.store, &sha256).await?;
    let holder = holder.filter(|holder| holder.expires_at.is_none_or(|expires_at| expires_at > now));
    Ok(holder.map(|holder| holder.account_id))
}

#[derive(Debug, Clone, Copy)]
pub struct KeyDraft<'a> {
    pub name: Option<&'a str>,
    pub scope: KeyScope,
    /// How long it works, in milliseconds; `None` for ever.
    pub expires_in_ms: Option<i64>,
}

impl KeyDraft<'_> {
    /// A key for everything, that works for ever and has no name.
    pub const PLAIN: Self = Self { name: None, scope: KeyScope::Write, expires_in_ms: None };

    fn check(&self) -> Result<(), AppError> {
        if let Some(name) = self.name {
            names::check("name", name)?;
        }
        if self.expires_in_ms.is_some_and(|time| time <= 0) {
            return Err(AppError::invalid("expires_in", codes::OUT_OF_RANGE, "must be longer than nothing"));
        }
        Ok(())
    }
}

/// Makes a key for an account, which works in every process once this returns.
///
/// # Errors
///
/// [`AppError::NotFound`] where there is no such account, [`AppError::Invalid`] for a name or a time that cannot be, and where
/// [`USABLE_MAX`] keys of the account work already.
pub async fn create(
    services: &Services,
    account: AccountId,
    draft: KeyDraft<'_>,
) -> Result<MadeKey, AppError> {
    draft.check()?;
    let account = accounts::get(services, account).await?;
    let made = new(services, draft);
    store(services, account.key, made).await
}

/// As [`create`], once for all repeats of what a form sends: they have the same key.
pub async fn create_once(
    services: &Services,
    account: AccountId,
    draft: KeyDraft<'_>,
    form: FormKey,
) -> Result<String, AppError> {
    draft.check()?;
    let account = accounts::get(services, account).await?;
    let id = services.ids.next(services.clock.now());
    let key_of =
        |id| Ok::<_, AppError>(format::write(repeatable_secret(services, "a form", &account, &form.0, id)?));
    let (key, once) = (key_of(id)?, form.once(&id));
    let new = record_of(services, id, &key, draft);
    match api_keys::insert_once(&services.store, account.key, &new, Some(once)).await? {
        Guarded::Done(true) => Ok(key),
        Guarded::Done(false) => Err(too_many()),
        Guarded::Recalled(recalled) => key_of(idempotency::made_before::<KeyKind>(recalled)?),
    }
}

/// The secret of the key `id`, which is made once for all repeats of what has this `name`. It is nowhere kept: who sends the same again, and
/// nobody else, can have it made of the installation's secret once more.
fn repeatable_secret(
    services: &Services,
    by: &str,
    account: &Account,
    name: &[u8],
    id: KeyId,
) -> Result<[u8; 32], AppError> {
    let mac = Hmac::<Sha256>::new_from_slice(services.store.sort_key_secret());
    let mac = mac.map_err(|_| StoreError::Damaged("the installation's secret"))?;
    let mac = mac.chain_update(format!("an API key that {by} makes\n")).chain_update(account.id.to_string());
    Ok(mac.chain_update(id.to_bytes()).chain_update(name).finalize().into_bytes().into())
}

/// As [`create`], once for all calls of the account with the same idempotency key; and whether it was made before.
///
/// # Errors
///
/// As [`create`], and [`AppError::IdempotencyKeyReused`].
pub(super) async fn create_repeatably(
    services: &Services,
    account: AccountId,
    draft: KeyDraft<'_>,
    key: Option<IdempotencyKey>,
) -> Result<(MadeKey, bool), AppError> {
    let Some(call) = key else { return create(services, account, draft).await.map(|made| (made, false)) };
    draft.check()?;
    let account = accounts::get(services, account).await?;
    let name = [call.hash, call.digest].concat();
    let id = services.ids.next(services.clock.now());
    let key_of =
        |id| Ok::<_, AppError>(format::write(repeatable_secret(services, "a call", &account, &name, id)?));
    let key = key_of(id)?;
    let new = record_of(services, id, &key, draft);
    let once = Once { key: call, response: id.to_string().into() };
    match api_keys::insert_once(&services.store, account.key, &new, Some(once)).await? {
        Guarded::Done(true) => Ok((MadeKey { key, record: new.into() }, false)),
        Guarded::Done(false) => Err(too_many()),
        Guarded::Recalled(recalled) => {
            let id = idempotency::made_before::<KeyKind>(recalled)?;
            let record = api_keys::find(&services.store, account.key, id).await?;
            Ok((MadeKey { key: key_of(id)?, record: record.ok_or(AppError::NotFound(NOUN))? }, true))
        }
    }
}

/// A key that is not stored yet, with what is to be stored of it.
pub(super) fn new(services: &Services, draft: KeyDraft<'_>) -> (String, NewApiKey) {
    let (key, id) = (format::write(services.ids.random()), services.ids.next(services.clock.now()));
    let record = record_of(services, id, &key, draft);
    (key, record)
}

/// What is stored of a key that is made now.
fn record_of(services: &Services, id: KeyId, key: &str, draft: KeyDraft<'_>) -> NewApiKey {
    let KeyDraft { name, scope, expires_in_ms } = draft;
    let now = services.clock.now();
    NewApiKey {
        id,
        sha256: format::hash(key.as_bytes()).unwrap_or_default(),
        prefix: format::visible(key).to_owned(),
        name: name.map(str::to_owned),
        scope,
        created_at: now,
        expires_at: expires_in_ms.map(|time| now.saturating_add(time)),
    }
}

/// Stores a key of an account that was made by [`new`].
///
/// # Errors
///
/// [`AppError::Invalid`] where [`USABLE_MAX`] keys of the account work already.
pub(super) async fn store(
    services: &Services,
    account: AccountKey,
    (key, new): (String, NewApiKey),
) -> Result<MadeKey, AppError> {
    if !api_keys::insert(&services.store, account, &new).await? {
        return Err(too_many());
    }
    Ok(MadeKey { key, record: new.into() })
}

fn too_many() -> AppError {
    let message = format!("has {USABLE_MAX} keys that work, and may have no more: revoke one first");
    AppError::invalid("account", codes::OUT_OF_RANGE, &message)
}

/// The keys of an account, oldest first: all that work, and the newest of those that were revoked or have expired.
pub async fn list(services: &Services, account: AccountId) -> Result<KeyList, AppError> {
    let account = accounts::get(services, account).await?;
    Ok(api_keys::list(&services.store, account.key, services.clock.now()).await?)
}

/// As [`revoke`], of a key of the account.
pub async fn revoke_own(services: &Services, account: AccountKey, id: KeyId) -> Result<ApiKey, AppError> {
    if !api_keys::is_own(&services.store, account, id).await? {
        return Err(AppError::NotFound(NOUN));
    }
    revoke_for(services, Some(account), id).await
}

/// Revokes a key: at once in this process, within a second in every other. A second time changes nothing.
pub async fn revoke(services: &Services, id: KeyId) -> Result<ApiKey, AppError> {
    revoke_for(services, None, id).await
}

async fn revoke_for(services: &Services, account: Option<AccountKey>, id: KeyId) -> Result<ApiKey, AppError> {
    let revoked = api_keys::revoke(&services.store, account, id, services.clock.now()).await?;
    services.api_key_cache.distrust();
    revoked.ok_or(AppError::NotFound(NOUN))
}

/// Stores when keys were used, as far as that is news: of each key about once a minute.
///
/// # Errors
/// What the store could not do; it is tried again with the next call.
pub async fn store_uses(services: &Services) -> Result<(), StoreError> {
    let uses = &services.api_key_cache.uses;
    let taken = uses.take();
    if taken.is_empty() {
        return Ok(());
    }
    let stored = api_keys::note_uses(&services.store, taken.clone()).await;
    if stored.is_err() {
        uses.put_back(taken);
    }
    stored
}
