//! E-mail addresses in their stored form, and new users: shared by signing in and signing up.

use overnight_domain::faults::codes;
use overnight_domain::text;
use overnight_store::identity::users::NewUser;

use crate::Services;
use crate::errors::AppError;

/// The longest e-mail address, in bytes.
const EMAIL_BYTES_MAX: usize = 254;

/// The form of an e-mail address that is stored and compared: in lower case. A letter beyond ASCII whose lower case is ASCII, such as the
/// Kelvin sign, stays as it is, so that two mailboxes never become one.
pub(crate) fn normalized(email: &str) -> String {
    let mut small = String::with_capacity(email.len());
    for letter in email.trim().chars() {
        match letter.is_ascii() || letter.to_lowercase().all(|it| !it.is_ascii()) {
            true => small.extend(letter.to_lowercase()),
            false => small.push(letter),
        }
    }
    small
}

/// Refuses malformed e-mail addresses; only an e-mail can prove that one exists.
pub(crate) fn checked(email: &str) -> Result<String, AppError> {
    let email = normalized(email);
    let is_one = email.len() <= EMAIL_BYTES_MAX
        && !email.contains(|it: char| text::misleads(it) || it.is_whitespace())
        && email
            .split_once('@')
            .is_some_and(|(name, host)| !name.is_empty() && !host.is_empty() && !host.contains('@'));
    let message = "must be an e-mail address";
    is_one.then_some(email).ok_or_else(|| AppError::invalid("email", codes::OUT_OF_RANGE, message))
}

/// A user's access beyond memberships.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    Ordinary,
    /// Every account, and the operator's page.
    Operator,
}

/// A user who is not stored yet and has no credentials.
pub(crate) fn draft(services: &Services, email: Option<String>, standing: Standing) -> NewUser {
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
