//! Creates a second account, for several senders.

use std::io;
use std::path::PathBuf;

use overnight_app::{accounts, api_keys};
use overnight_store::Durability;
use serde::{Deserialize, Serialize};

use super::opening;

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct MadeAccount {
    pub(crate) key: String,
}

pub(super) async fn run(config: PathBuf) -> io::Result<MadeAccount> {
    let services = opening::open(config, Durability::ProcessOnly).await?;
    let account = accounts::create(&services, "bench").await.map_err(io::Error::other)?;
    let made =
        api_keys::create(&services, account.id, api_keys::KeyDraft::PLAIN).await.map_err(io::Error::other)?;
    services.store.close().await;
    Ok(MadeAccount { key: made.key })
}
