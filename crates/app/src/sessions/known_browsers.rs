//! Browsers in which a user signed in by password before. Each keeps a mark: a random number and its MAC under the hash of the password. So
//! the service stores nothing, marks cannot be forged, and each is valid for one user until the password changes.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, Mac};
use overnight_domain::ids::UserId;
use sha2::Sha256;

use crate::Services;

/// The random part of a mark, by which the browser's failures are counted.
pub(super) type BrowserNumber = [u8; 32];

/// A prefix of the authenticated text that separates it from other uses of the key.
const PURPOSE: &[u8] = b"overnight known browser";

/// A new mark for a browser of `user`, whose password has the hash `password`.
pub(crate) fn mark(services: &Services, user: UserId, password: &str) -> String {
    write(&services.ids.random(), user, password)
}

fn write(number: &BrowserNumber, user: UserId, password: &str) -> String {
    let code = mac(number, user, password).map(|mac| mac.finalize().into_bytes().to_vec());
    URL_SAFE_NO_PAD.encode([number.to_vec(), code.unwrap_or_default()].concat())
}

/// The number of a mark that [`mark`] made for `user` and this password.
pub(super) fn read(mark: &str, user: UserId, password: &str) -> Option<BrowserNumber> {
    let bytes = URL_SAFE_NO_PAD.decode(mark).ok()?;
    let (number, code) = bytes.split_first_chunk()?;
    mac(number, user, password)?.verify_slice(code).ok().map(|()| *number)
}

fn mac(number: &BrowserNumber, user: UserId, password: &str) -> Option<Hmac<Sha256>> {
    let mac = Hmac::<Sha256>::new_from_slice(password.as_bytes()).ok()?;
    Some(mac.chain_update(PURPOSE).chain_update(user.to_string()).chain_update(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_of_one_user_and_one_password() {
        let (user, other) = (UserId::from_bits(1), UserId::from_bits(2));
        let mark = write(&[7; 32], user, "hash");
        assert_eq!(read(&mark, user, "hash"), Some([7; 32]));
        assert_eq!(read(&mark, other, "hash"), None);
        assert_eq!(read(&mark, user, "another hash"), None);
        for wrong in ["", "AAAA", &write(&[8; 32], user, "guess"), &mark[..43], &format!("{mark}AAAA")] {
            assert_eq!(read(wrong, user, "hash"), None, "{wrong}");
        }
    }
}
