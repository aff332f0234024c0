//! Checks that the encryption keys of bodies and files are present.

use overnight_base::encryption::Keyring;
use overnight_config::{Config, EncryptionConfig};
use overnight_store::check_keys;

use super::{Finding, open_database};

const CHECK: &str = "encryption";

/// `None` without encryption.
pub(super) async fn check(config: &Config) -> Option<Finding> {
    if let Some(error) = missing(config).await {
        let hint = "put the folder of keys back, and name it with `encryption.key_dir`: docs/operating/encryption.md";
        return Some(Finding::fail(CHECK, error, hint));
    }
    let EncryptionConfig { key_dir, enabled } = config.encryption.as_ref()?;
    if !key_dir.exists() {
        let message = format!("the folder of keys {} is not there", key_dir.display());
        return Some(Finding::warn(CHECK, message, "`overnight serve` makes it"));
    }
    let keyring = Keyring::of(Some(key_dir.clone()));
    Some(match keyring.prepare().and_then(|()| keyring.ids()) {
        Ok(ids) => {
            let state = if *enabled { "on" } else { "off: `encryption.enabled` is false" };
            Finding::ok(CHECK, format!("{state}; keys of accounts in {}: {}", key_dir.display(), ids.len()))
        }
        Err(error) => Finding::fail(CHECK, error.to_string(), "see docs/operating/encryption.md"),
    })
}

/// Why data in the database cannot be read.
async fn missing(config: &Config) -> Option<String> {
    let store = open_database(config).await?;
    let checked = check_keys(&store).await;
    store.close().await;
    checked.err().map(|error| error.to_string())
}
