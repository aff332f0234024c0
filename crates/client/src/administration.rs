//! Administration: what an API key with the scope `admin` may do to every account.

use overnight_wire::native::accounts::Account;
pub use overnight_wire::native::administration::{
    AccountList, ApiKey, ApiKeyCreated, ApiKeyList, CreateAccount, CreateApiKey, CreateGrant, Grant,
    GrantCreated, GrantList, SetLimits, SetLowCredits, SetMonthlyCredits, SetRetention, Totals,
};
use overnight_wire::native::usage::{UsageFilter, UsageList};
use reqwest::header::HeaderValue;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::accounts::parameters;
use crate::once::read_key;
use crate::send::{Call, to_json};
use crate::{Client, Error};

/// Calls under `/v1/admin`. They need a key with the scope `admin`; any other is refused with `insufficient_scope`.
///
/// ```no_run
/// # async fn example(client: &overnight_client::Client) -> Result<(), overnight_client::Error> {
/// use overnight_client::administration::{CreateAccount, CreateGrant};
///
/// let admin = client.administration().once("acme-1")?;
/// let account = CreateAccount { name: "acme".to_owned(), payments_activated: Some(true) };
/// let account = admin.create_account(&account).await?;
/// let grant = CreateGrant { amount: "25".to_owned(), source: Some("invoice 7".to_owned()) };
/// admin.create_grant(&account.id, &grant).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Administration<'c> {
    client: &'c Client,
    key: Option<HeaderValue>,
}

impl Client {
    /// What the key may do to every account.
    pub const fn administration(&self) -> Administration<'_> {
        Administration { client: self, key: None }
    }
}

impl<'c> Administration<'c> {
    /// The same with an idempotency key, 1 to 255 visible ASCII characters: each call that makes or sets something, closes or erases is done once
    /// within 48 hours, and so is repeated after every failure that may pass. Keys of different calls are apart.
    ///
    /// # Errors
    /// [`Error::Invalid`] when `key` is none.
    pub fn once(&self, key: &str) -> Result<Administration<'c>, Error> {
        Ok(Self { client: self.client, key: Some(read_key(key)?) })
    }

    /// A page of the accounts, oldest first, after the account `after`; its `next` is the `after` of the next one.
    ///
    /// # Errors
    /// [`Error::Api`] with `not_found` when `after` is no account.
    pub async fn list_accounts(&self, after: Option<&str>) -> Result<AccountList, Error> {
        self.list(&["accounts"], after).await
    }

    /// Makes an account without credits.
    ///
    /// # Errors
    /// [`Error::Api`] with `invalid_input` for a name that cannot be.
    pub async fn create_account(&self, account: &CreateAccount) -> Result<Account, Error> {
        self.create(&["accounts"], account).await
    }

    /// The account, its credits and its quotas.
    ///
    /// # Errors
    /// [`Error::Api`] with `not_found` when there is none.
    pub async fn get_account(&self, id: &str) -> Result<Account, Error> {
        self.get(&["accounts", id]).await
    }

    /// Activates its payments. A second time changes nothing.
    ///
    /// # Errors
    /// As [`Administration::get_account`].
    pub async fn activate_account(&self, id: &str) -> Result<Account, Error> {
        self.repeat(&["accounts", id, "activate"]).await
    }

    /// Suspends it: its keys and members read, and change nothing. A second time changes nothing.
    ///
    /// # Errors
    /// As [`Administration::get_account`].
    pub async fn suspend_account(&self, id: &str) -> Result<Account, Error> {
        self.repeat(&["accounts", id, "suspend"]).await
    }

    /// Lets a suspended account go on. A second time changes nothing.
    ///
    /// # Errors
    /// As [`Administration::get_account`]; [`Error::Api`] with `invalid_input` when it is closed.
    pub async fn resume_account(&self, id: &str) -> Result<Account, Error> {
        self.repeat(&["accounts", id, "resume"]).await
    }

    /// Closes it for good: its keys are revoked, and what waits is cancelled. A second time changes nothing.
    ///
    /// # Errors
    /// As [`Administration::get_account`]; [`Error::Api`] with `invalid_input` for the account of the client's own key.
    pub async fn close_account(&self, id: &str) -> Result<Account, Error> {
        self.repeat(&["accounts", id, "close"]).await
    }

    /// Erases what a closed account had, all but the entries of its ledger. A second time changes nothing.
    ///
    /// # Errors
    /// As [`Administration::get_account`]; [`Error::Api`] with `invalid_input` when it is not closed.
    pub async fn erase_account(&self, id: &str) -> Result<Account, Error> {
        self.repeat(&["accounts", id, "erase"]).await
    }

    /// Sets quotas of its own; `None` stays, and null is that of the settings.
    ///
    /// # Errors
    /// As [`Administration::get_account`]; [`Error::Api`] with `invalid_input` for what cannot be a limit.
    pub async fn set_account_limits(&self, id: &str, limits: &SetLimits) -> Result<Account, Error> {
        let url = self.client.url(&["v1", "admin", "accounts", id, "limits"])?;
        self.client.answer(Call::set(url, to_json(limits)?)).await
    }

    /// Sets what it is granted each calendar month (UTC).
    ///
    /// # Errors
    /// As [`Administration::get_account`]; [`Error::Api`] with `invalid_input` when it is closed, or for an amount that is not above 0.
    pub async fn set_monthly_credits(&self, id: &str, credits: &SetMonthlyCredits) -> Result<Account, Error> {
        self.create(&["accounts", id, "monthly_credits"], credits).await
    }

    /// Sets when and where it is told that its credits are low.
    ///
    /// # Errors
    /// As [`Administration::set_monthly_credits`], and for an address that cannot be a webhook.
    pub async fn set_low_credits(&self, id: &str, low_credits: &SetLowCredits) -> Result<Account, Error> {
        self.create(&["accounts", id, "low_credits"], low_credits).await
    }

    /// Sets how long its ended requests are kept.
    ///
    /// # Errors
    /// As [`Administration::get_account`]; [`Error::Api`] with `invalid_input` when it is closed, or for less than a day or more than 3,650.
    pub async fn set_retention(&self, id: &str, retention: &SetRetention) -> Result<Account, Error> {
        self.create(&["accounts", id, "retention"], retention).await
    }

    /// What it has, holds and spent.
    ///
    /// # Errors
    /// As [`Administration::get_account`].
    pub async fn get_account_totals(&self, id: &str) -> Result<Totals, Error> {
        self.get(&["accounts", id, "totals"]).await
    }

    /// A page of what it completed and was charged for; its `next` is the `after` of the next one.
    ///
    /// # Errors
    /// As [`Administration::get_account`]; [`Error::Api`] with `invalid_input` for a filter that cannot be.
    pub async fn list_usage(&self, id: &str, filter: &UsageFilter) -> Result<UsageList, Error> {
        let url = self.client.url_with(&["v1", "admin", "accounts", id, "usage"], parameters(filter))?;
        self.client.answer(Call::get(url)).await
    }

    /// Its API keys, oldest first.
    ///
    /// # Errors
    /// As [`Administration::get_account`].
    pub async fn list_api_keys(&self, id: &str) -> Result<ApiKeyList, Error> {
        self.get(&["accounts", id, "api_keys"]).await
    }

    /// Makes a key, which is told in this answer alone.
    ///
    /// # Errors
    /// As [`Administration::get_account`]; [`Error::Api`] with `invalid_input` for a scope that there is not, or where very many keys work.
    pub async fn create_api_key(&self, id: &str, api_key: &CreateApiKey) -> Result<ApiKeyCreated, Error> {
        self.create(&["accounts", id, "api_keys"], api_key).await
    }

    /// Revokes a key. A second time changes nothing.
    ///
    /// # Errors
    /// [`Error::Api`] with `not_found` when the account has no such key, and with `invalid_input` for the client's own.
    pub async fn revoke_api_key(&self, id: &str, api_key: &str) -> Result<ApiKey, Error> {
        self.repeat(&["accounts", id, "api_keys", api_key, "revoke"]).await
    }

    /// A page of its grants, the newest first, after the place `after`; its `next` is the `after` of the next one.
    ///
    /// # Errors
    /// As [`Administration::get_account`].
    pub async fn list_grants(&self, id: &str, after: Option<&str>) -> Result<GrantList, Error> {
        self.list(&["accounts", id, "grants"], after).await
    }

    /// Grants credits, or takes some back that are available. Of one `source` it is granted once.
    ///
    /// # Errors
    /// As [`Administration::get_account`]; [`Error::Api`] with `invalid_input` when it is closed, for an amount that cannot be, and for a source
    /// that was granted with another one.
    pub async fn create_grant(&self, id: &str, grant: &CreateGrant) -> Result<GrantCreated, Error> {
        self.create(&["accounts", id, "grants"], grant).await
    }

    async fn get<T: DeserializeOwned>(&self, path: &[&str]) -> Result<T, Error> {
        self.list(path, None).await
    }

    async fn list<T: DeserializeOwned>(&self, path: &[&str], after: Option<&str>) -> Result<T, Error> {
        let segments = [&["v1", "admin"][..], path].concat();
        let url = self.client.url_with(&segments, [("after", after.map(str::to_owned))])?;
        self.client.answer(Call::get(url)).await
    }

    async fn create<T: DeserializeOwned>(&self, path: &[&str], body: &impl Serialize) -> Result<T, Error> {
        let url = self.client.url(&[&["v1", "admin"][..], path].concat())?;
        self.client.answer(Call::create(url, to_json(body)?, self.key.clone())).await
    }

    /// What changes nothing a second time.
    async fn repeat<T: DeserializeOwned>(&self, path: &[&str]) -> Result<T, Error> {
        let url = self.client.url(&[&["v1", "admin"][..], path].concat())?;
        self.client.answer(Call::repeat(url, self.key.clone())).await
    }
}
