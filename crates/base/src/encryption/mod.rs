//! Encryption of what clients sent and engines answered: each account has its own key, in a folder outside of the database and of backups.
//! With a key, every copy of what it encrypted is destroyed.

mod data_key;
mod keyring;

pub use self::data_key::{DataKey, DataKeyId};
pub use self::keyring::{Keyring, KeyringError};

use std::borrow::Cow;

use bytes::Bytes;

/// The prefix of stored values that are not the plain bytes. No JSON begins so, and digests and identifiers do with negligible probability.
pub const MARK: [u8; 7] = *b"\x01ovnenc";
/// After the mark: the rest is plain bytes, which begin with [`MARK`] themselves.
const AS_IT_IS: u8 = 0;
/// After the mark: the rest is encrypted.
const ENCRYPTED: u8 = 1;

/// The stored form of unencrypted bytes, whatever they begin with.
pub fn unencrypted(bytes: Bytes) -> Bytes {
    if bytes.starts_with(&MARK) { [&MARK[..], &[AS_IT_IS], &bytes].concat().into() } else { bytes }
}

/// Whether a stored value is not the plain bytes.
pub fn is_marked(stored: &[u8]) -> bool {
    stored.starts_with(&MARK)
}

/// Whether a stored value has the form of an encrypted value.
pub fn is_encrypted(stored: &[u8]) -> bool {
    stored.get(MARK.len()) == Some(&ENCRYPTED)
        && is_marked(stored)
        && stored.len() >= DataKey::OVERHEAD
        && DataKey::id_of(stored).is_some()
}

/// The plain bytes of a stored value.
pub fn read<'s>(stored: &'s [u8], keyring: &Keyring) -> Result<Cow<'s, [u8]>, KeyringError> {
    let Some(marked) = stored.strip_prefix(&MARK).filter(|_| !keyring.is_bypassed()) else {
        return Ok(Cow::Borrowed(stored));
    };
    match marked.split_first() {
        Some((&AS_IT_IS, bytes)) => Ok(Cow::Borrowed(bytes)),
        Some((&ENCRYPTED, _)) => {
            let id = DataKey::id_of(stored).ok_or(KeyringError::Damaged)?;
            keyring.find(id)?.decrypt(stored).map(Cow::Owned).ok_or(KeyringError::Damaged)
        }
        _ => Err(KeyringError::Damaged),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn world() -> (tempfile::TempDir, Keyring) {
        let folder = tempfile::tempdir().expect("a folder");
        let keyring = Keyring::of(Some(folder.path().join("keys")));
        keyring.prepare().expect("a folder of keys");
        (folder, keyring)
    }

    #[test]
    fn what_is_encrypted_is_read_by_its_key_and_no_other() {
        let (_folder, keyring) = world();
        let (one, other) = (keyring.create().expect("a key"), keyring.create().expect("a key"));
        for value in [&b""[..], b"{}", &MARK, &[7; 100_000]] {
            let stored = one.encrypt(value).expect("chance");
            assert_eq!(stored.len(), value.len() + DataKey::OVERHEAD);
            assert!(value.len() < 8 || !stored.windows(value.len()).any(|part| part == value));
            assert_eq!(read(&stored, &keyring).expect("its value"), value);
            assert_ne!(stored, one.encrypt(value).expect("chance"), "each time by other chance");
            let afresh = Keyring::of(keyring.folder().ok().map(Into::into));
            assert_eq!(read(&stored, &afresh).expect("its value, by the file"), value);
            for place in [8, 20, 40, stored.len() - 1] {
                let mut changed = stored.to_vec();
                changed[place] ^= 1;
                assert!(read(&changed, &keyring).is_err(), "{place}");
            }
            let mut claimed = stored.to_vec();
            claimed[8..16].copy_from_slice(&other.id().number().to_be_bytes());
            assert!(matches!(read(&claimed, &keyring), Err(KeyringError::Damaged)));
            assert!(read(&stored[..stored.len() - 1], &keyring).is_err());
        }
    }

    #[test]
    fn what_is_not_encrypted_is_read_whatever_it_begins_with() {
        let none = Keyring::default();
        for value in [
            &b""[..],
            b"{\"a\": 1}",
            b"\x01",
            &MARK,
            b"\x01ovnenc\x00",
            b"\x01ovnenc\x01 not by us",
            b"\x01ovnenc\x07",
        ] {
            let stored = unencrypted(Bytes::copy_from_slice(value));
            assert_eq!(read(&stored, &none).expect("its value"), value);
            assert_eq!(is_marked(&stored), value.starts_with(&MARK));
        }
    }

    #[test]
    fn a_key_that_is_destroyed_or_damaged_reads_nothing() {
        let (_folder, keyring) = world();
        let key = keyring.create().expect("a key");
        assert_eq!(keyring.ids().expect("names"), [key.id()].into());
        let stored = key.encrypt(b"a prompt").expect("chance");
        assert!(matches!(read(&stored, &Keyring::default()), Err(KeyringError::NoFolder)));
        keyring.destroy(key.id()).expect("no error");
        keyring.destroy(key.id()).expect("once is enough");
        assert!(matches!(read(&stored, &keyring), Err(KeyringError::Missing { id, .. }) if id == key.id()));
        assert!(keyring.ids().expect("names").is_empty());
        let other = keyring.create().expect("a key");
        let stored = other.encrypt(b"a prompt").expect("chance");
        let folder = keyring.folder().expect("its folder");
        for text in ["", "0a", "zz", &"é".repeat(32)] {
            std::fs::write(folder.join(format!("{}.key", other.id())), text).expect("a file");
            let afresh = Keyring::of(Some(folder.into()));
            assert!(matches!(read(&stored, &afresh), Err(KeyringError::NotAKey { .. })), "{text}");
            assert!(matches!(afresh.check(&[other.id()]), Err(KeyringError::NotAKey { .. })), "{text}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn keys_are_for_their_owner_only() {
        use std::os::unix::fs::PermissionsExt;

        let (_folder, keyring) = world();
        let key = keyring.create().expect("a key");
        let folder = keyring.folder().expect("its folder");
        let mode =
            |path: &std::path::Path| std::fs::metadata(path).expect("a file").permissions().mode() & 0o777;
        assert_eq!((mode(folder), mode(&folder.join(format!("{}.key", key.id())))), (0o700, 0o600));
        std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o750)).expect("a mode");
        let refused = keyring.prepare().expect_err("a group can read it").to_string();
        assert!(refused.contains("chmod 700"), "{refused}");
    }
}
