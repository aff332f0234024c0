//! Whether the service is ready.

use serde_json::Value;

use crate::send::Call;
use crate::{Client, Error};

impl Client {
    /// Asks whether the service takes work now.
    ///
    /// # Errors
    /// [`Error::Api`] with status 503 and the reason if it does not.
    pub async fn check_ready(&self) -> Result<(), Error> {
        self.answer::<Value>(Call::get(self.url(&["readyz"])?)).await.map(drop)
    }
}
