//! Forms sent by the console.

use sha2::{Digest, Sha256};
use url::form_urlencoded;

/// The field with a page's token for its forms.
pub const TOKEN: &str = "once";

/// The fields of a form, in the order sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Form(Vec<(String, String)>);

impl Form {
    /// Reads an `application/x-www-form-urlencoded` body as browsers write it. Every text is valid.
    pub fn decode(body: &[u8]) -> Self {
        Self(form_urlencoded::parse(body).into_owned().collect())
    }

    /// The fields: name, value.
    pub fn fields(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (&**name, &**value))
    }

    /// A field without surrounding white space; empty if absent.
    pub fn get(&self, name: &str) -> &str {
        self.raw(name).trim()
    }

    /// A field as sent; empty if absent.
    pub fn raw(&self, name: &str) -> &str {
        self.fields().find(|(known, _)| *known == name).map_or("", |(_, value)| value)
    }

    /// A field that was filled in.
    pub fn filled(&self, name: &str) -> Option<&str> {
        Some(self.get(name)).filter(|value| !value.is_empty())
    }

    /// The key of this form on `page`, see [`key`].
    pub fn key(&self, page: &str) -> Option<[u8; 32]> {
        key(page, self.fields())
    }
}

/// The key of a form sent on `page` in its account, with its contents: other contents are another sending. `None` without a token.
pub fn key<'f>(page: &str, fields: impl IntoIterator<Item = (&'f str, &'f str)>) -> Option<[u8; 32]> {
    let mut sum = Sha256::new_with_prefix(format!("console {page}"));
    let mut is_named = false;
    for (name, value) in fields {
        is_named |= name == TOKEN && !value.is_empty();
        for text in [name, value] {
            sum.update((text.len() as u64).to_le_bytes());
            sum.update(text);
        }
    }
    is_named.then(|| sum.finalize().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_filled_where_something_but_space_stands_in_it() {
        let form = Form::decode(b"name=+night+jobs+&empty=&blank=+%09&name=second&once=abc");
        let sent =
            [("name", " night jobs "), ("empty", ""), ("blank", " \t"), ("name", "second"), ("once", "abc")];
        assert_eq!(form.fields().collect::<Vec<_>>(), sent);
        assert_eq!((form.get("name"), form.raw("name")), ("night jobs", " night jobs "), "the first of two");
        assert_eq!(
            ["name", "empty", "blank", "none"].map(|name| form.filled(name)),
            [Some("night jobs"), None, None, None]
        );
    }

    #[test]
    fn a_sending_is_named_by_its_page_its_token_and_all_that_was_filled_in() {
        let key = |page: &str, body: &str| Form::decode(body.as_bytes()).key(page);
        let first = key("keys", "once=abc&name=a");
        assert!(first.is_some() && first == key("keys", "once=abc&name=a"));
        for (page, body) in [
            ("users", "once=abc&name=a"),
            ("keys", "once=abd&name=a"),
            ("keys", "once=abc&name=b"),
            ("keys", "once=abc&nam=ea"),
            ("keys", "name=a&once=abc"),
        ] {
            let other = key(page, body);
            assert!(other.is_some() && other != first, "{page} {body}");
        }
        assert_eq!([key("keys", "once=&name=a"), key("keys", "name=once")], [None, None], "it says no name");
    }
}
