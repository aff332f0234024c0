//! The reference that the database holds instead of a body in the object store.

use bytes::Bytes;
use overnight_base::encryption::MARK;
use overnight_domain::scheduler::AccountKey;
use ring::digest::{SHA256, digest};
use ring::rand::{SecureRandom, SystemRandom};

/// After the mark of a stored value: the rest names an object.
const REFERENCE: u8 = 2;

const HEAD: usize = MARK.len() + 1;
const ACCOUNT: usize = HEAD + 8;
const NAME: usize = ACCOUNT + 16;
const LENGTH: usize = NAME + 8;
const DIGEST: usize = LENGTH + 32;

/// Named by 128 random bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ObjectName {
    pub account: AccountKey,
    pub bits: [u8; 16],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reference {
    pub name: ObjectName,
    /// Length of the object.
    pub bytes: u64,
    /// SHA-256.
    digest: [u8; 32],
}

impl ObjectName {
    /// `None` if the system has no randomness.
    pub fn draw(account: AccountKey) -> Option<Self> {
        let mut bits = [0; 16];
        SystemRandom::new().fill(&mut bits).ok()?;
        Some(Self { account, bits })
    }
}

impl Reference {
    pub fn new(name: ObjectName, content: &[u8]) -> Self {
        Self { name, bytes: content.len() as u64, digest: digest_of(content) }
    }

    pub fn is_to(&self, content: &[u8]) -> bool {
        self.bytes == content.len() as u64 && self.digest == digest_of(content)
    }

    /// No value from a client or an engine is stored so: values that begin alike are marked.
    pub fn to_stored(&self) -> Bytes {
        let mut stored = Vec::with_capacity(DIGEST);
        stored.extend(MARK);
        stored.push(REFERENCE);
        stored.extend(self.name.account.0.to_be_bytes());
        stored.extend(self.name.bits);
        stored.extend(self.bytes.to_be_bytes());
        stored.extend(self.digest);
        stored.into()
    }

    /// `None` for a value that is not a reference.
    pub fn read(stored: &[u8]) -> Option<Self> {
        if !is_reference(stored) || stored.len() != DIGEST {
            return None;
        }
        let account = i64::from_be_bytes(stored.get(HEAD..ACCOUNT)?.try_into().ok()?);
        let bits = stored.get(ACCOUNT..NAME)?.try_into().ok()?;
        let bytes = u64::from_be_bytes(stored.get(NAME..LENGTH)?.try_into().ok()?);
        let digest = stored.get(LENGTH..DIGEST)?.try_into().ok()?;
        Some(Self { name: ObjectName { account: AccountKey(account), bits }, bytes, digest })
    }
}

pub fn is_reference(stored: &[u8]) -> bool {
    stored.strip_prefix(&MARK).is_some_and(|rest| rest.first() == Some(&REFERENCE))
}

fn digest_of(content: &[u8]) -> [u8; 32] {
    let mut bytes = [0; 32];
    bytes.copy_from_slice(digest(&SHA256, content).as_ref());
    bytes
}

#[cfg(test)]
mod tests {
    use overnight_base::encryption::unencrypted;

    use super::*;

    #[test]
    fn a_reference_is_read_as_it_was_written_and_nothing_else_is_one() {
        let name = ObjectName::draw(AccountKey(7)).expect("chance");
        let reference = Reference::new(name, b"a body");
        let stored = reference.to_stored();
        assert_eq!(Reference::read(&stored), Some(reference));
        assert!(reference.is_to(b"a body") && !reference.is_to(b"a bode") && !reference.is_to(b"a body "));
        for other in [&stored[..stored.len() - 1], &[&stored[..], b"\0"].concat(), b"{}", b"", &MARK] {
            assert_eq!(Reference::read(other), None);
        }
        let sent_by_a_client = unencrypted(stored);
        assert!(!is_reference(&sent_by_a_client) && Reference::read(&sent_by_a_client).is_none());
    }
}
