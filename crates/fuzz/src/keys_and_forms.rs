//! API keys, forms of the console, and the short texts in them.
//!
//! Reading inverts writing, and everything that is read can have been written: no key, form, identifier or amount has two meanings.

use std::iter;

use overnight_domain::api_keys;
use overnight_domain::batches::BatchStatus;
use overnight_domain::endpoints::Endpoint;
use overnight_domain::forms::{Form, TOKEN};
use overnight_domain::ids::{AccountId, BatchId, CallId, Id, Kind, MessageBatchId, OutputFileId, RequestId};
use overnight_domain::money::{Credits, Currency, EntryKind};
use overnight_domain::requests::RequestStatus;
use overnight_domain::roles::Role;
use overnight_domain::webhooks::signature::SigningSecret;
use overnight_wire::openai::files::{batch_file_id, parse_batch_file};
use url::form_urlencoded::{Serializer, byte_serialize};

const PREFIX: &str = "on_live_";
const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const SECRET_DIGITS: usize = 43;

/// The input is used as a form, as each kind of text, as a key's bits, and as a key's digits.
pub fn check(input: &[u8]) {
    check_key(input);
    let mut secret = [0; 32];
    for (byte, given) in secret.iter_mut().zip(input) {
        *byte = *given;
    }
    check_made_key(secret);
    if let Some(digits) = input.first_chunk::<SECRET_DIGITS>() {
        check_key(&with_checksum(digits));
    }
    check_form(&Form::decode(input));
    if let Ok(text) = std::str::from_utf8(input) {
        check_text(text);
    }
}

/// An accepted key is one that was written for some bits.
fn check_key(key: &[u8]) {
    if api_keys::hash(key).is_none() {
        return;
    }
    let key = std::str::from_utf8(key).unwrap_or_else(|_| panic!("{key:?} is no text and may be a key"));
    let digits = key.strip_prefix(PREFIX).expect("the prefix");
    let Some(secret) = number(&digits.as_bytes()[..SECRET_DIGITS]) else {
        panic!("{key} has digits that no key has");
    };
    assert_eq!(api_keys::write(secret), key, "another key has its bits");
    assert!(key.starts_with(api_keys::visible(key)));
}

fn check_made_key(secret: [u8; 32]) {
    let key = api_keys::write(secret);
    let hash = api_keys::hash(key.as_bytes());
    assert!(hash.is_some(), "{key}");
    assert_eq!(with_checksum(&key.as_bytes()[PREFIX.len()..][..SECRET_DIGITS]), key.as_bytes());
    assert_eq!(number(&key.as_bytes()[PREFIX.len()..][..SECRET_DIGITS]), Some(secret));
    check_key(key.as_bytes());
    let place = usize::from(secret[0]) % key.len();
    let mut misspelt = key.clone().into_bytes();
    misspelt[place] = if misspelt[place] == secret[1] { secret[1] ^ 1 } else { secret[1] };
    assert_eq!(api_keys::hash(&misspelt), None, "{key} with another byte at {place}");
    for wrong in [&key[1..], &key[..key.len() - 1], &format!("{key} "), &format!(" {key}")] {
        assert_eq!(api_keys::hash(wrong.as_bytes()), None, "{wrong}");
    }
}

/// The number of base 62 digits; `None` for other digits, or a number of more than 256 bits.
fn number(digits: &[u8]) -> Option<[u8; 32]> {
    let mut number = [0_u8; 32];
    for digit in digits {
        let mut carry = u32::try_from(DIGITS.iter().position(|known| known == digit)?).ok()?;
        for byte in number.iter_mut().rev() {
            let product = u32::from(*byte) * 62 + carry;
            (*byte, carry) = (product.to_le_bytes()[0], product >> 8);
        }
        if carry != 0 {
            return None;
        }
    }
    Some(number)
}

/// The key with these digits and their checksum, a bitwise CRC-32.
fn with_checksum(digits: &[u8]) -> Vec<u8> {
    let mut key = [PREFIX.as_bytes(), digits].concat();
    let crc = !key.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| crc >> 1 ^ (crc & 1).wrapping_neg() & 0xedb8_8320)
    });
    let mut checksum = [0; 6];
    let mut rest = crc as usize;
    for digit in checksum.iter_mut().rev() {
        (*digit, rest) = (DIGITS[rest % 62], rest / 62);
    }
    key.extend_from_slice(&checksum);
    key
}

/// A browser's encoding of the fields is read as those fields, and is the same sending as long as no other field was filled in.
fn check_form(form: &Form) {
    let written = Serializer::new(String::new()).extend_pairs(form.fields()).finish();
    assert_eq!(&Form::decode(written.as_bytes()), form, "{written}");
    let (page, fields): (_, Vec<(&str, &str)>) = ("credits/top-up", form.fields().collect());
    let key = form.key(page);
    let is_named = fields.iter().any(|(name, value)| *name == TOKEN && !value.is_empty());
    assert_eq!(key.is_some(), is_named);
    for (name, value) in &fields {
        let first = fields.iter().find(|(known, _)| known == name).map(|(_, value)| *value);
        assert_eq!(Some(form.raw(name)), first);
        assert_eq!(form.get(name), form.raw(name).trim());
        assert_eq!(form.filled(name).is_some(), !form.get(name).is_empty());
        assert!(value.len() <= written.len());
    }
    if key.is_some() {
        assert_ne!(form.key("keys"), key, "another page");
        let more = fields.iter().copied().chain(iter::once(("", "")));
        assert_ne!(overnight_domain::forms::key(page, more), key, "a field more");
        check_moved(page, &fields, key);
    }
}

/// A letter that moves from a value to the name before it, or to the following field, makes another sending.
fn check_moved(page: &str, fields: &[(&str, &str)], key: Option<[u8; 32]>) {
    for (place, (name, value)) in fields.iter().enumerate() {
        let Some(letter) = value.chars().next().filter(|_| *name != TOKEN) else { continue };
        let longer = format!("{name}{letter}");
        let mut moved = fields.to_vec();
        moved[place] = (&longer, &value[letter.len_utf8()..]);
        assert_ne!(overnight_domain::forms::key(page, moved), key, "{fields:?}");
    }
}

/// Short texts: an accepted text is written unchanged, and read again as the same.
fn check_text(text: &str) {
    check_names(text);
    check_id(text, RequestId::parse);
    check_id(text, BatchId::parse);
    check_id(text, AccountId::parse);
    check_id(text, CallId::parse);
    check_id(text, MessageBatchId::parse);
    check_id(text, OutputFileId::parse);
    if let Some((file, batch)) = parse_batch_file(text) {
        assert_eq!(batch_file_id(file, batch), text);
    }
    if let Ok(amount) = text.parse::<Credits>() {
        assert!((-Credits::MAX..=Credits::MAX).contains(&amount));
        assert_eq!(amount.to_string().parse(), Ok(amount));
    }
    if let Ok(currency) = text.parse::<Currency>() {
        assert_eq!(currency.to_string(), text);
    }
    if let Some(secret) = SigningSecret::parse(text) {
        assert_eq!(secret.reveal(), text.trim());
    }
    let encoded: String = byte_serialize(text.as_bytes()).collect();
    let decoded = Form::decode(format!("next={encoded}").as_bytes());
    assert_eq!(decoded.raw("next"), text);
}

fn check_id<K: Kind>(text: &str, parse: fn(&str) -> Option<Id<K>>) {
    if let Some(id) = parse(text) {
        assert_eq!(id.to_string(), text);
    }
}

fn check_names(text: &str) {
    let names = [
        RequestStatus::parse(text).map(RequestStatus::as_str),
        BatchStatus::parse(text).map(BatchStatus::as_str),
        EntryKind::parse(text).map(EntryKind::as_str),
        Role::parse(text).map(Role::as_str),
        Endpoint::parse(text).map(Endpoint::as_str),
    ];
    assert!(names.into_iter().flatten().all(|name| name == text), "{text}");
}
