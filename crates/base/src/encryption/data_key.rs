//! An account's data key, and encryption with it.

use std::fmt;
use std::str::FromStr;

use bytes::Bytes;
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use ring::hkdf::{HKDF_SHA256, KeyType, Prk};
use ring::rand::{SecureRandom, SystemRandom};

use super::{ENCRYPTED, MARK};

const ID_AT: usize = MARK.len() + 1;
const SALT_AT: usize = ID_AT + 8;
const CONTENT_AT: usize = SALT_AT + SALT_BYTES;
const SALT_BYTES: usize = 16;
const TAG_BYTES: usize = 16;

/// A key and a nonce for each value.
const DERIVED_BYTES: usize = 32 + 12;

/// A random number above 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DataKeyId(i64);

/// A 256-bit key. Values are encrypted with AES-256-GCM, each under its own key and nonce, which HKDF-SHA-256 (RFC 5869) derives from this
/// key and from 128 random bits that precede the value.
pub struct DataKey {
    id: DataKeyId,
    derive: Prk,
}

struct Derived;

impl KeyType for Derived {
    fn len(&self) -> usize {
        DERIVED_BYTES
    }
}

impl DataKeyId {
    /// `None` if it is not a valid id.
    pub fn from_number(number: i64) -> Option<Self> {
        (number > 0).then_some(Self(number))
    }

    pub const fn number(self) -> i64 {
        self.0
    }

    /// A new key; `None` if the system has no randomness.
    pub(super) fn draw(random: &SystemRandom) -> Option<Self> {
        let mut bytes = [0; 8];
        random.fill(&mut bytes).ok()?;
        Self::from_number(i64::from_be_bytes(bytes) & i64::MAX)
    }
}

impl fmt::Display for DataKeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl FromStr for DataKeyId {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let number = i64::from_str_radix(text, 16).map_err(drop)?;
        Self::from_number(number).filter(|id| id.to_string() == text).ok_or(())
    }
}

impl DataKey {
    /// The growth of a value by encryption, in bytes.
    pub const OVERHEAD: usize = CONTENT_AT + TAG_BYTES;

    pub(super) fn new(id: DataKeyId, secret: &[u8; 32]) -> Self {
        Self { id, derive: Prk::new_less_safe(HKDF_SHA256, secret) }
    }

    pub const fn id(&self) -> DataKeyId {
        self.id
    }

    pub(super) fn id_of(stored: &[u8]) -> Option<DataKeyId> {
        let number = stored.get(ID_AT..SALT_AT)?.try_into().ok()?;
        DataKeyId::from_number(i64::from_be_bytes(number))
    }

    /// The encrypted value; `None` if the system has no randomness.
    pub fn encrypt(&self, value: &[u8]) -> Option<Bytes> {
        let mut salt = [0; SALT_BYTES];
        SystemRandom::new().fill(&mut salt).ok()?;
        let mut stored = Vec::with_capacity(value.len() + Self::OVERHEAD);
        stored.extend(MARK);
        stored.push(ENCRYPTED);
        stored.extend(self.id.0.to_be_bytes());
        stored.extend(salt);
        stored.extend(value);
        let (head, content) = stored.split_at_mut(CONTENT_AT);
        let (key, nonce) = self.derive(&salt)?;
        let tag = key.seal_in_place_separate_tag(nonce, Aad::from(&*head), content).ok()?;
        stored.extend(tag.as_ref());
        Some(stored.into())
    }

    /// The decrypted value; `None` if it was changed.
    pub(super) fn decrypt(&self, stored: &[u8]) -> Option<Vec<u8>> {
        let (head, content) = stored.split_at_checked(CONTENT_AT)?;
        let (key, nonce) = self.derive(head.get(SALT_AT..)?)?;
        let mut content = content.to_vec();
        let length = key.open_in_place(nonce, Aad::from(head), &mut content).ok()?.len();
        content.truncate(length);
        Some(content)
    }

    /// A digest that only this key makes: HMAC-SHA-256 of `digest`, as HKDF expands it.
    pub fn digest(&self, digest: &[u8; 32]) -> Option<[u8; 32]> {
        let mut derived = [0; DERIVED_BYTES];
        self.derive.expand(&[b"digest", digest], Derived).ok()?.fill(&mut derived).ok()?;
        derived.first_chunk().copied()
    }

    fn derive(&self, salt: &[u8]) -> Option<(LessSafeKey, Nonce)> {
        let mut derived = [0; DERIVED_BYTES];
        self.derive.expand(&[salt], Derived).ok()?.fill(&mut derived).ok()?;
        let (key, nonce) = derived.split_at(32);
        let key = UnboundKey::new(&AES_256_GCM, key).ok()?;
        Some((LessSafeKey::new(key), Nonce::try_assume_unique_for_key(nonce).ok()?))
    }
}

impl fmt::Debug for DataKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DataKey({})", self.id)
    }
}
