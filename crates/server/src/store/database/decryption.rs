//! Values that are encrypted, or in an object beside the database, as they come from it.

use std::borrow::Cow;

use overnight_base::encryption::{self, Keyring};

use crate::object_store::is_reference;

/// What was stored; `None` where that cannot be told, which is logged.
pub(super) fn decrypted<'s>(stored: &'s [u8], keyring: &Keyring) -> Option<Cow<'s, [u8]>> {
    encryption::read(stored, keyring)
        .inspect_err(|error| tracing::error!("a stored value cannot be decrypted: {error}"))
        .ok()
}

/// Whether a value is the name of an object, and is not read as it is stored.
pub(super) fn names_object(stored: &[u8], keyring: &Keyring) -> bool {
    is_reference(stored) && !keyring.is_bypassed()
}
