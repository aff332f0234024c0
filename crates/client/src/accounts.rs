//! The account of the API key, and its usage.

use overnight_wire::native::accounts::Account;
use overnight_wire::native::usage::{UsageFilter, UsageList};

use crate::send::Call;
use crate::{Client, Error};

impl Client {
    /// Fetches the account with its credits.
    pub async fn get_account(&self) -> Result<Account, Error> {
        self.answer(Call::get(self.url(&["v1", "account"])?)).await
    }

    /// Fetches a page of completed requests and charges; its `next` is the `after` of the next page.
    pub async fn list_usage(&self, filter: &UsageFilter) -> Result<UsageList, Error> {
        self.answer(Call::get(self.url_with(&["v1", "usage"], parameters(filter))?)).await
    }
}

/// The query parameters of a filter.
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
