//! The account that the key belongs to.

use overnight_wire::native::accounts::Account;

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
}
