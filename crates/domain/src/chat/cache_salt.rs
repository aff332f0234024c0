//! Separates the prefix cache of an engine by account.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, Mac};
use sha2::Sha256;

use crate::json::Json;
use crate::scheduler::AccountKey;

/// Separate these MACs from others under the same secret, and from each other.
const LABEL: &[u8] = b"cache_salt:";
const ACCOUNT_LABEL: &[u8] = b"engine_account:";

/// Derives the `cache_salt` of one account's requests. vLLM shares cached blocks only among requests with the same salt. The salt is the
/// same on every node and after every restart, differs between accounts, and cannot be guessed without the secret.
pub struct CacheSalt {
    secret: [u8; 32],
    account: AccountKey,
}

impl CacheSalt {
    /// For an account, under a secret of the installation. The salt is computed only when it is rendered, because few engines take it.
    pub const fn new(secret: &[u8; 32], account: AccountKey) -> Self {
        Self { secret: *secret, account }
    }

    /// The salt to send: 43 characters that vLLM accepts. A request with a client's salt shares only with requests of its account that have
    /// the same one.
    pub fn render(&self, clients_own: Option<Json<'_>>) -> String {
        let own = clients_own.map_or("", Json::as_str);
        let of_account = mac(&self.secret, &[LABEL, &self.account.0.to_be_bytes()]);
        URL_SAFE_NO_PAD.encode(mac(&of_account, &[own.as_bytes()]))
    }

    /// A name of the account for an engine whose accounts take turns: 43 characters that differ from every salt, so that a shared cache
    /// stays shared, and are otherwise like it.
    pub fn render_account(&self) -> String {
        URL_SAFE_NO_PAD.encode(mac(&self.secret, &[ACCOUNT_LABEL, &self.account.0.to_be_bytes()]))
    }
}

fn mac(key: &[u8; 32], parts: &[&[u8]]) -> [u8; 32] {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes a key of any length");
    parts.iter().for_each(|part| mac.update(part));
    mac.finalize().into_bytes().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: [u8; 32] = [7; 32];

    fn salt(secret: &[u8; 32], account: i64, own: Option<&str>) -> String {
        let own = own.map(|own| Json::from_stored(own.as_bytes()).expect("UTF-8"));
        CacheSalt::new(secret, AccountKey(account)).render(own)
    }

    #[test]
    fn a_salt_never_changes_for_its_secret_and_account() {
        // Python's `hmac` computes the same.
        assert_eq!(salt(&SECRET, 5, None), "YsIfyKp6jD0StqJ2rB0Dh3h4hP0wbWLit5egD76CBFk");
    }

    #[test]
    fn salts_differ_by_secret_by_account_and_by_the_clients_own() {
        let salts = [
            salt(&SECRET, 5, None),
            salt(&SECRET, 6, None),
            salt(&[8; 32], 5, None),
            salt(&SECRET, 5, Some(r#""mine""#)),
            salt(&SECRET, 6, Some(r#""mine""#)),
        ];
        for (number, one) in salts.iter().enumerate() {
            assert!(one.len() == 43 && !one.contains(['@', '/', '\\', '\0']), "{one}");
            assert!(!salts[..number].contains(one), "{salts:?}");
        }
    }

    #[test]
    fn an_accounts_name_never_changes_and_is_no_salt() {
        let name = |account| CacheSalt::new(&SECRET, AccountKey(account)).render_account();
        // Python's `hmac` computes the same.
        assert_eq!(name(5), "yjALcBIQQIJWG5Rt2xo4N1DKdG0Os5Dl5hDZqNXvKC4");
        assert_ne!(name(5), name(6));
        assert_ne!(name(5), salt(&SECRET, 5, None));
    }

    #[test]
    fn another_accounts_salt_as_ones_own_is_not_that_accounts_salt() {
        let theirs = salt(&SECRET, 6, None);
        assert_ne!(salt(&SECRET, 5, Some(&format!("\"{theirs}\""))), theirs);
    }
}
