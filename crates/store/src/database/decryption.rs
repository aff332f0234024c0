//! Decoding values that are encrypted or stored as objects.

use std::borrow::Cow;

use overnight_base::encryption::{self, Keyring};

use crate::object_store::is_reference;

/// The stored value; `None`, with a log line, if it cannot be decrypted.
pub(super) fn decrypted<'s>(stored: &'s [u8], keyring: &Keyring) -> Option<Cow<'s, [u8]>> {
    encryption::read(stored, keyring)
        .inspect_err(|error| tracing::error!("a stored value cannot be decrypted: {error}"))
        .ok()
}

/// Whether a value names an object instead of holding the data.
pub(super) fn names_object(stored: &[u8], keyring: &Keyring) -> bool {
    is_reference(stored) && !keyring.is_bypassed()
}
