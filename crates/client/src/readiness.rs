//! Readiness of the service.

use serde_json::Value;

use crate::send::Call;
use crate::{Client, Error};

impl Client {
    /// Checks whether the service accepts work. Fails with [`Error::Api`], status 503 and the reason if it does not.
    pub async fn check_ready(&self) -> Result<(), Error> {
        self.answer::<Value>(Call::get(self.url(&["readyz"])?)).await.map(drop)
    }
}
