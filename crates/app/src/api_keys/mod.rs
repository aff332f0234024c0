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
use overnight_store::StoreError;
use overnight_store::idempotency_keys::{Guarded, IdempotencyKey, Once};
use overnight_store::identity::api_keys::{self, KeyHolder, NewApiKey};

use super::accounts::Account;
use super::errors::AppError;
use super::idempotency::{self, FormKey};
use super::{Services, accounts, names};
pub use overnight_store::identity::api_keys::{ApiKey, ENDED_LISTED_MAX, KeyList, USABLE_MAX};

const NOUN: &str = "API key";

#[derive(Debug, Clone)]
pub struct MadeKey {
    /// The secret. It is shown only here and is not stored.
    pub key: String,
    pub record: ApiKey,
}

/// The cached knowledge about a key.
#[derive(Debug, Clone, Copy)]
pub enum Presented {
    Opens(Opened),
    /// The store must be asked.
    Unread(UnreadKey),
}

/// A key that must be looked up in the store.
#[derive(Debug, Clone, Copy)]
pub struct UnreadKey {
    sha256: [u8; 32],
    /// The account that it opened when the store was last asked.
    pub account: Option<AccountKey>,
}

/// Checks a key against the cache. Fails with [`AppError::InvalidApiKey`] if the text is not the form of a key.
pub fn present(services: &Services, key: &[u8]) -> Result<Presented, AppError> {
    let sha256 = format::hash(key).ok_or(AppError::InvalidApiKey)?;
    let cache = &services.api_key_cache;
    Ok(match cache.find(&sha256, services.clock.now()) {
        Some(opened) => Presented::Opens(opened),
        None => Presented::Unread(UnreadKey { sha256, account: cache.last_opened(&sha256) }),
    })
}

/// Looks a key up in the store. Fails with [`AppError::InvalidApiKey`], whatever is wrong with the key, and with
/// [`AppError::PaymentsNotActivated`] if requests cost credits and the account cannot obtain any yet.
pub async fn look_up(services: &Services, key: UnreadKey) -> Result<Opened, AppError> {
    let UnreadKey { sha256, .. } = key;
    let now = services.clock.now();
    let holder = api_keys::find_holder(&services.store, &sha256).await?;
    let holder = holder.filter(|holder| holder.expires_at.is_none_or(|expires_at| expires_at > now));
    // The store is asked each time until the account is activated, so activation takes effect immediately.
    let can_pay = |holder: &KeyHolder| {
        // Administrators activate accounts.
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

/// Checks the key of a call that is still under way again; changes take effect within a second, as for a new call.
pub async fn look_again(services: &Services, opened: Opened) -> Result<Opened, AppError> {
    let Opened { sha256, .. } = opened;
    match services.api_key_cache.find(&sha256, services.clock.now()) {
        Some(opened) => Ok(opened),
        None => look_up(services, UnreadKey { sha256, account: Some(opened.account) }).await,
    }
}

/// The account of a working key, whether or not it can pay.
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
    /// The lifetime, in milliseconds; `None` for ever.
    pub expires_in_ms: Option<i64>,
}

impl KeyDraft<'_> {
    /// An unnamed key with full access that never expires.
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

/// Creates a key, which works in every process once this returns. Fails with [`AppError::Invalid`] if [`USABLE_MAX`] keys of the account
/// work already, or if the name or lifetime is invalid.
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

/// Like [`create`], once for all repeats of a form: they get the same key.
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

/// The secret of the key `id`, the same for all repeats with this `name`. It is not stored; only a sender of the same form can have it
/// derived again from the installation's secret.
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

/// Like [`create`], once for all calls of the account with the same idempotency key. Also returns whether it was created before.
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

/// A key that is not stored yet, and its row.
pub(super) fn new(services: &Services, draft: KeyDraft<'_>) -> (String, NewApiKey) {
    let (key, id) = (format::write(services.ids.random()), services.ids.next(services.clock.now()));
    let record = record_of(services, id, &key, draft);
    (key, record)
}

/// The row of a new key.
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

/// Stores a key made by [`new`]. Fails with [`AppError::Invalid`] if [`USABLE_MAX`] keys of the account work already.
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

/// The keys of an account, oldest first: all working ones, and the newest revoked or expired ones.
pub async fn list(services: &Services, account: AccountId) -> Result<KeyList, AppError> {
    let account = accounts::get(services, account).await?;
    Ok(api_keys::list(&services.store, account.key, services.clock.now()).await?)
}

/// Like [`revoke`], for a key of the account.
pub async fn revoke_own(services: &Services, account: AccountKey, id: KeyId) -> Result<ApiKey, AppError> {
    if !api_keys::is_own(&services.store, account, id).await? {
        return Err(AppError::NotFound(NOUN));
    }
    revoke_for(services, Some(account), id).await
}

/// Revokes a key, immediately in this process and within a second in others. Idempotent.
pub async fn revoke(services: &Services, id: KeyId) -> Result<ApiKey, AppError> {
    revoke_for(services, None, id).await
}

async fn revoke_for(services: &Services, account: Option<AccountKey>, id: KeyId) -> Result<ApiKey, AppError> {
    let revoked = api_keys::revoke(&services.store, account, id, services.clock.now()).await?;
    services.api_key_cache.distrust();
    revoked.ok_or(AppError::NotFound(NOUN))
}

/// Stores the noted uses of keys, about once a minute per key. Uses that could not be stored are tried again with the next call.
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
