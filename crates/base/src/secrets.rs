//! Secrets: keys from environment variables.

use std::ffi::OsString;
use std::fmt;

use hyper::header::{HeaderValue, InvalidHeaderValue};
use url::form_urlencoded;

/// A key, which `Debug` does not show.
#[derive(Clone)]
pub struct Secret(String);

impl Secret {
    pub fn new(key: String) -> Self {
        Self(key)
    }

    /// The key in a variable. Fails with the end of a sentence about the variable.
    pub fn read(value: Option<OsString>) -> Result<Self, &'static str> {
        let text = value.ok_or("is not set")?.into_string().unwrap_or_default();
        match text.trim() {
            "" => Err("is empty or no text"),
            key if key.bytes().any(|byte| !byte.is_ascii_graphic()) => Err("has characters that no key has"),
            key => Ok(Self(key.to_owned())),
        }
    }

    /// The secret in a variable, of any characters, without a line break at its end. Fails with the end of a sentence about the variable.
    pub fn read_as_it_is(value: Option<OsString>) -> Result<Self, &'static str> {
        let text = value.ok_or("is not set")?.into_string().map_err(|_| "is no text")?;
        match text.trim_end_matches(['\r', '\n']) {
            "" => Err("is empty"),
            secret => Ok(Self(secret.to_owned())),
        }
    }

    /// For signatures.
    pub fn bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }

    /// The text, for its owner only.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Whether the secret text begins so.
    pub fn begins_with(&self, prefix: &str) -> bool {
        self.0.starts_with(prefix)
    }

    /// The `Authorization` header, for the key's owner only.
    pub fn bearer(&self) -> Result<HeaderValue, InvalidHeaderValue> {
        let mut header = HeaderValue::try_from(format!("Bearer {}", self.0))?;
        header.set_sensitive(true);
        Ok(header)
    }

    /// The text without the key, which some servers repeat when they refuse it.
    pub fn conceal(&self, text: String) -> String {
        let encoded: String = form_urlencoded::byte_serialize(self.0.as_bytes()).collect();
        [&self.0, &encoded].into_iter().fold(text, |text, secret| match text.contains(secret) {
            true => text.replace(secret, "[key]"),
            false => text,
        })
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[key]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_is_never_shown() {
        let key = Secret::read(Some(" sk-secret\n".into())).unwrap();
        assert_eq!(key.conceal("wrong key: sk-secret!".to_owned()), "wrong key: [key]!");
        assert_eq!(key.bytes(), b"sk-secret");
        assert!(!format!("{key:?} {:?}", key.bearer().unwrap()).contains("secret"));
    }

    #[test]
    fn a_variable_without_a_key_is_told_by_what_is_wrong() {
        for (value, part) in [
            (None, "not set"),
            (Some(""), "empty"),
            (Some(" \n"), "empty"),
            (Some("sk secret"), "characters"),
        ] {
            let reason = Secret::read(value.map(OsString::from)).unwrap_err();
            assert!(reason.contains(part), "{value:?}: {reason}");
        }
    }

    #[test]
    fn a_secret_of_others_may_have_any_characters() {
        let read = |text: &str| Secret::read_as_it_is(Some(text.into()));
        assert_eq!(read(" p:ä%+ ß \r\n").unwrap().reveal(), " p:ä%+ ß ");
        assert_eq!(read("\n").unwrap_err(), "is empty");
        assert_eq!(Secret::read_as_it_is(None).unwrap_err(), "is not set");
    }
}
