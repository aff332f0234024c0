//! Values that are encrypted, as they come from the database.

use std::borrow::Cow;

use crate::encryption::{self, Keyring};

/// What was stored; `None` where that cannot be told, which is logged.
pub(super) fn decrypted<'s>(stored: &'s [u8], keyring: &Keyring) -> Option<Cow<'s, [u8]>> {
    encryption::read(stored, keyring)
        .inspect_err(|error| tracing::error!("a stored value cannot be decrypted: {error}"))
        .ok()
}
