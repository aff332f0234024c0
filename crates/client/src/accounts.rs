//! The account that the key belongs to, and what it used.

use overnight_wire::native::accounts::Account;
use overnight_wire::native::usage::{UsageFilter, UsageList};

use crate::send::Call;
use crate::{Client, Error};

impl Client {
    /// The account and its credits.
    ///
    /// # Errors
    /// [`Error::Api`] when the key is refused.
    pub async fn get_account(&self) -> Result<Account, Error> {
        self.answer(Call::get(self.url(&["v1", "account"])?)).await
    }

    /// A page of what the account completed and was charged for; its `next` is the `after` of the next one.
    ///
    /// # Errors
    /// [`Error::Api`] with `invalid_input` for a filter that cannot be.
    pub async fn list_usage(&self, filter: &UsageFilter) -> Result<UsageList, Error> {
        self.answer(Call::get(self.url_with(&["v1", "usage"], parameters(filter))?)).await
    }
}

/// A filter as the parameters of a query.
pub(crate) fn parameters(filter: &UsageFilter) -> [(&'static str, Option<String>); 5] {
    let UsageFilter { group_by, first_day, last_day, after, limit } = filter;
    [
        ("group_by", group_by.clone()),
        ("first_day", first_day.clone()),
        ("last_day", last_day.clone()),
        ("after", after.clone()),
        ("limit", limit.map(|limit| limit.to_string())),
    ]
}
