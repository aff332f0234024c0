//! Whether the keys are there by which bodies and files are encrypted.

use overnight_server::config::{Config, EncryptionConfig};
use overnight_server::encryption::Keyring;

use super::Finding;

const CHECK: &str = "encryption";

/// `None` where nothing is encrypted.
pub(super) fn check(config: &Config) -> Option<Finding> {
    let EncryptionConfig { key_dir, enabled } = config.encryption.as_ref()?;
    if !key_dir.exists() {
        let message = format!("the folder of keys {} is not there", key_dir.display());
        let hint =
            "`overnight serve` makes it; where something was encrypted before, put the keys back first";
        return Some(Finding::warn(CHECK, message, hint));
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
