//! Where an engine is and how it is spoken to.

use hyper::Uri;
use hyper::header::HeaderValue;
use hyper::http;

/// An engine's addresses and key.
pub(super) struct Target {
    /// `{base}/chat/completions`.
    pub(super) completions: Uri,
    /// `{base}/models`.
    pub(super) models: Uri,
    /// The `Authorization` header, if the engine wants one.
    pub(super) authorization: Option<HeaderValue>,
    key: Option<String>,
}

impl Target {
    /// The engine under a base URL, with its key if it wants one.
    pub(super) fn new(base_url: &str, key: Option<String>) -> Result<Self, http::Error> {
        let base = base_url.trim_end_matches('/');
        let mut authorization =
            key.as_ref().map(|key| HeaderValue::try_from(format!("Bearer {key}"))).transpose()?;
        if let Some(header) = &mut authorization {
            header.set_sensitive(true);
        }
        Ok(Self {
            completions: Uri::try_from(format!("{base}/chat/completions"))?,
            models: Uri::try_from(format!("{base}/models"))?,
            authorization,
            key,
        })
    }

    /// The text without the key, which some engines repeat when they refuse it.
    pub(super) fn conceal(&self, text: String) -> String {
        match &self.key {
            Some(key) if text.contains(key.as_str()) => text.replace(key.as_str(), "[key]"),
            _ => text,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_put_under_the_base() {
        for base in ["http://h/v1", "http://h/v1/", "http://h"] {
            let target = Target::new(base, None).unwrap();
            let expected = format!("{}/chat/completions", base.trim_end_matches('/'));
            assert_eq!(target.completions.to_string(), expected);
        }
    }

    #[test]
    fn the_key_is_never_shown() {
        let target = Target::new("http://h", Some("sk-secret".to_owned())).unwrap();
        assert_eq!(target.conceal("wrong key: sk-secret!".to_owned()), "wrong key: [key]!");
        assert!(!format!("{:?}", target.authorization).contains("secret"));
    }
}
