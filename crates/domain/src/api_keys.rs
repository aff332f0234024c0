//! The form of API keys: `on_live_`, 43 base-62 digits of 256 random bits, and 6 of the CRC-32 of everything before them, so that a scanner
//! finds a leaked key and a misspelt one is detected without the store.

use sha2::{Digest, Sha256};

const PREFIX: &str = "on_live_";
const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const SECRET_DIGITS: usize = 43;
const CHECKSUM_DIGITS: usize = 6;

/// The digits of 256 set bits. Digits are in the order of their values, so no secret has greater ones.
const HIGHEST_SECRET: &[u8; SECRET_DIGITS] = b"yhjskwdA6OZ1AL1YmHWZWm8LLG7HjnuCA2j5rOw8Xp1";

const KEY_BYTES: usize = PREFIX.len() + SECRET_DIGITS + CHECKSUM_DIGITS;

/// How much of a key may be shown: enough to distinguish a user's keys.
const VISIBLE_BYTES: usize = PREFIX.len() + 6;

/// What a key may be used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum KeyScope {
    /// The whole API.
    Write,
    /// Calls that change no data: lists, records, results.
    Read,
    /// Everything, and the administration of every account. Only operators create such keys.
    Admin,
}

impl KeyScope {
    /// Every scope.
    pub const ALL: [Self; 3] = [Self::Write, Self::Read, Self::Admin];

    /// The name of the scope.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Write => "write",
            Self::Read => "read",
            Self::Admin => "admin",
        }
    }

    /// The scope with this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scope| scope.as_str() == name)
    }
}

/// Writes the key with these random bits.
pub fn write(secret: [u8; 32]) -> String {
    let mut key = String::with_capacity(KEY_BYTES);
    key.push_str(PREFIX);
    push_digits(secret, SECRET_DIGITS, &mut key);
    let checksum = crc32fast::hash(key.as_bytes());
    let mut number = [0; 32];
    number[28..].copy_from_slice(&checksum.to_be_bytes());
    push_digits(number, CHECKSUM_DIGITS, &mut key);
    key
}

/// The SHA-256 of a key, under which it is stored; `None` if it cannot be a key.
pub fn hash(key: &[u8]) -> Option<[u8; 32]> {
    if key.len() != KEY_BYTES || !key.starts_with(PREFIX.as_bytes()) {
        return None;
    }
    let (signed, checksum) = key.split_at(KEY_BYTES - CHECKSUM_DIGITS);
    let secret = &signed[PREFIX.len()..];
    if !secret.iter().all(u8::is_ascii_alphanumeric) || secret > HIGHEST_SECRET.as_slice() {
        return None;
    }
    let stated = checksum.iter().try_fold(0u64, |number, digit| {
        let value = DIGITS.iter().position(|known| known == digit)?;
        Some(number * 62 + value as u64)
    })?;
    (stated == u64::from(crc32fast::hash(signed))).then(|| Sha256::digest(key).into())
}

/// The part of a key that may be shown.
pub fn visible(key: &str) -> &str {
    &key[..VISIBLE_BYTES]
}

/// Appends the last `count` base-62 digits of a big-endian number, the most significant first.
fn push_digits(mut number: [u8; 32], count: usize, out: &mut String) {
    let mut digits = [0; SECRET_DIGITS];
    for digit in digits[..count].iter_mut().rev() {
        let mut remainder = 0u32;
        for byte in &mut number {
            let dividend = remainder << 8 | u32::from(*byte);
            (*byte, remainder) = (u8::try_from(dividend / 62).unwrap_or(u8::MAX), dividend % 62);
        }
        *digit = DIGITS[remainder as usize];
    }
    out.extend(digits[..count].iter().copied().map(char::from));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scope_reads_back_from_its_name() {
        for scope in KeyScope::ALL {
            assert_eq!(KeyScope::parse(scope.as_str()), Some(scope));
        }
        assert_eq!(KeyScope::parse("all"), None);
    }

    #[test]
    fn a_key_is_known_by_its_checksum() {
        for secret in [[0; 32], [255; 32], [7; 32]] {
            let key = write(secret);
            assert_eq!(key.len(), KEY_BYTES);
            assert_eq!(hash(key.as_bytes()), Some(Sha256::digest(&key).into()));
            for place in PREFIX.len()..KEY_BYTES {
                let mut misspelt = key.clone().into_bytes();
                misspelt[place] = if misspelt[place] == b'a' { b'b' } else { b'a' };
                assert_eq!(hash(&misspelt), None, "{place}");
            }
        }
        assert_eq!(write([255; 32]).get(8..51), Some("yhjskwdA6OZ1AL1YmHWZWm8LLG7HjnuCA2j5rOw8Xp1"));
    }

    #[test]
    fn what_cannot_be_a_key_is_told_without_a_checksum() {
        for wrong in ["", "on_live_", "sk-123", &"x".repeat(KEY_BYTES), &"on_live_é".repeat(9)] {
            assert_eq!(hash(wrong.as_bytes()), None, "{wrong}");
        }
    }

    #[test]
    fn a_checksum_alone_makes_no_key() {
        for digits in ["é".repeat(21) + "a", "*".repeat(SECRET_DIGITS), "z".repeat(SECRET_DIGITS)] {
            let mut key = format!("{PREFIX}{digits}");
            let mut number = [0; 32];
            number[28..].copy_from_slice(&crc32fast::hash(key.as_bytes()).to_be_bytes());
            push_digits(number, CHECKSUM_DIGITS, &mut key);
            assert_eq!(hash(key.as_bytes()), None, "{key}");
        }
        assert_eq!(write([255; 32]).as_bytes()[PREFIX.len()..][..SECRET_DIGITS], *HIGHEST_SECRET);
    }

    #[test]
    fn different_bits_make_different_keys() {
        let mut other = [0; 32];
        other[31] = 1;
        assert_ne!(write([0; 32]), write(other));
        assert_eq!(visible(&write([0; 32])), "on_live_000000");
    }
}
