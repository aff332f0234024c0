//! Administration: calls on every account with an API key of the scope `admin`.

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
    /// Calls on every account.
    pub const fn administration(&self) -> Administration<'_> {
        Administration { client: self, key: None }
    }
}

impl<'c> Administration<'c> {
    /// The same calls with an idempotency key of 1 to 255 visible ASCII characters. A call that changes something takes effect once within
    /// 48 hours, so it is repeated after every transient failure. Different calls may use the same key. Fails with [`Error::Invalid`] if
    /// `key` is invalid.
    pub fn once(&self, key: &str) -> Result<Administration<'c>, Error> {
        Ok(Self { client: self.client, key: Some(read_key(key)?) })
    }

    /// Fetches a page of the accounts after the account `after`, oldest first; its `next` is the `after` of the next page.
    pub async fn list_accounts(&self, after: Option<&str>) -> Result<AccountList, Error> {
        self.list(&["accounts"], after).await
    }

    /// Creates an account without credits.
    pub async fn create_account(&self, account: &CreateAccount) -> Result<Account, Error> {
        self.create(&["accounts"], account).await
    }

    /// Fetches an account with its credits and quotas. Fails with the code `not_found` if it does not exist, as do all calls with an
    /// account's identifier.
    pub async fn get_account(&self, id: &str) -> Result<Account, Error> {
        self.get(&["accounts", id]).await
    }

    /// Activates the account's payments. Repeats have no effect.
    pub async fn activate_account(&self, id: &str) -> Result<Account, Error> {
        self.repeat(&["accounts", id, "activate"]).await
    }

    /// Suspends an account: its keys and members can only read. Repeats have no effect.
    pub async fn suspend_account(&self, id: &str) -> Result<Account, Error> {
        self.repeat(&["accounts", id, "suspend"]).await
    }

    /// Resumes a suspended account. Repeats have no effect. Fails with `invalid_input` if it is closed.
    pub async fn resume_account(&self, id: &str) -> Result<Account, Error> {
        self.repeat(&["accounts", id, "resume"]).await
    }

    /// Closes an account permanently: revokes its keys and cancels its waiting requests. Repeats have no effect. Fails with `invalid_input`
    /// for the account of the client's own key.
    pub async fn close_account(&self, id: &str) -> Result<Account, Error> {
        self.repeat(&["accounts", id, "close"]).await
    }

    /// Erases the data of a closed account except its ledger. Repeats have no effect. Fails with `invalid_input` if it is not closed.
    pub async fn erase_account(&self, id: &str) -> Result<Account, Error> {
        self.repeat(&["accounts", id, "erase"]).await
    }

    /// Sets the account's quotas. `None` leaves a quota unchanged, null restores the quota of the settings.
    pub async fn set_account_limits(&self, id: &str, limits: &SetLimits) -> Result<Account, Error> {
        let url = self.client.url(&["v1", "admin", "accounts", id, "limits"])?;
        self.client.answer(Call::set(url, to_json(limits)?)).await
    }

    /// Sets the grant of each calendar month (UTC). Fails with `invalid_input` if the account is closed or the amount is not above 0.
    pub async fn set_monthly_credits(&self, id: &str, credits: &SetMonthlyCredits) -> Result<Account, Error> {
        self.create(&["accounts", id, "monthly_credits"], credits).await
    }

    /// Sets the threshold and the webhook of the low-credits event. Fails like [`Administration::set_monthly_credits`], and for an invalid
    /// webhook address.
    pub async fn set_low_credits(&self, id: &str, low_credits: &SetLowCredits) -> Result<Account, Error> {
        self.create(&["accounts", id, "low_credits"], low_credits).await
    }

    /// Sets how long ended requests are kept, 1 to 3,650 days. Fails with `invalid_input` if the account is closed.
    pub async fn set_retention(&self, id: &str, retention: &SetRetention) -> Result<Account, Error> {
        self.create(&["accounts", id, "retention"], retention).await
    }

    /// Fetches the account's totals: available, held and spent.
    pub async fn get_account_totals(&self, id: &str) -> Result<Totals, Error> {
        self.get(&["accounts", id, "totals"]).await
    }

    /// Fetches a page of the account's completed requests and charges; its `next` is the `after` of the next page.
    pub async fn list_usage(&self, id: &str, filter: &UsageFilter) -> Result<UsageList, Error> {
        let url = self.client.url_with(&["v1", "admin", "accounts", id, "usage"], parameters(filter))?;
        self.client.answer(Call::get(url)).await
    }

    /// Lists the account's API keys, oldest first.
    pub async fn list_api_keys(&self, id: &str) -> Result<ApiKeyList, Error> {
        self.get(&["accounts", id, "api_keys"]).await
    }

    /// Creates an API key. Only this answer contains the key. Fails with `invalid_input` for an unknown scope or too many active keys.
    pub async fn create_api_key(&self, id: &str, api_key: &CreateApiKey) -> Result<ApiKeyCreated, Error> {
        self.create(&["accounts", id, "api_keys"], api_key).await
    }

    /// Revokes an API key. Repeats have no effect. Fails with `not_found` if the account has no such key, and with `invalid_input` for the
    /// client's own key.
    pub async fn revoke_api_key(&self, id: &str, api_key: &str) -> Result<ApiKey, Error> {
        self.repeat(&["accounts", id, "api_keys", api_key, "revoke"]).await
    }

    /// Fetches a page of the account's grants after the position `after`, newest first; its `next` is the `after` of the next page.
    pub async fn list_grants(&self, id: &str, after: Option<&str>) -> Result<GrantList, Error> {
        self.list(&["accounts", id, "grants"], after).await
    }

    /// Grants credits, or takes back available ones. Grants once for each `source`. Fails with `invalid_input` if the account is closed, if
    /// the amount is invalid, or if `source` was granted with another amount.
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

    /// A call that has no effect when repeated.
    async fn repeat<T: DeserializeOwned>(&self, path: &[&str]) -> Result<T, Error> {
        let url = self.client.url(&[&["v1", "admin"][..], path].concat())?;
        self.client.answer(Call::repeat(url, self.key.clone())).await
    }
}
