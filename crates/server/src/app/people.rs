//! E-mail addresses as they are kept, and users before they are stored: what signing in and signing up share.

use overnight_domain::faults::codes;
use overnight_domain::text;

use super::Services;
use super::errors::AppError;
use crate::store::identity::users::NewUser;

/// The longest e-mail address, in bytes.
const EMAIL_BYTES_MAX: usize = 254;

/// An e-mail address as it is kept and compared: in small letters. A letter beyond ASCII whose small one is within, such as the
/// sign for kelvin, stays as it is: two mailboxes never become one.
pub(super) fn normalized(email: &str) -> String {
    let mut small = String::with_capacity(email.len());
    for letter in email.trim().chars() {
        match letter.is_ascii() || letter.to_lowercase().all(|it| !it.is_ascii()) {
            true => small.extend(letter.to_lowercase()),
            false => small.push(letter),
        }
    }
    small
}

/// Refuses what cannot be an e-mail address; whether it is one, only a letter tells.
pub(super) fn checked(email: &str) -> Result<String, AppError> {
    let email = normalized(email);
    let is_one = email.len() <= EMAIL_BYTES_MAX
        && !email.contains(|it: char| text::misleads(it) || it.is_whitespace())
        && email
            .split_once('@')
            .is_some_and(|(name, host)| !name.is_empty() && !host.is_empty() && !host.contains('@'));
    let message = "must be an e-mail address";
    is_one.then_some(email).ok_or_else(|| AppError::invalid("email", codes::OUT_OF_RANGE, message))
}

/// What a user may see beside the accounts that they are a member of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    Ordinary,
    /// Every account, and the operator's page.
    Operator,
}

/// A user who is not stored yet, and has nothing yet to sign in by but the e-mail address.
pub(super) fn draft(services: &Services, email: Option<String>, standing: Standing) -> NewUser {
    let now = services.clock.now();
    let is_operator = standing == Standing::Operator;
    NewUser { id: services.ids.next(now), email, password: None, subject: None, is_operator, created_at: now }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_kept_in_small_letters_and_two_mailboxes_never_become_one() {
        assert_eq!(normalized(" Ada.K@EXAMPLE.com\n"), "ada.k@example.com");
        assert_eq!(normalized("ÄRA@example.com"), "ära@example.com");
        for foreign in ["\u{212a}im@example.com", "\u{130}da@example.com"] {
            assert_eq!(normalized(foreign), foreign);
        }
    }

    #[test]
    fn an_address_has_no_characters_that_are_not_seen() {
        assert_eq!(checked("Ada@Example.com").ok().as_deref(), Some("ada@example.com"));
        for email in
            ["a\u{200b}da@example.com", "ada@\u{202e}moc.elpmaxe", "a da@example.com", "ada", "a\u{7}@b"]
        {
            assert!(checked(email).is_err(), "{email:?}");
        }
    }
}
