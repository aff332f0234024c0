//! The cookies of a browser: its session, and the account that it showed last.

use axum::http::{HeaderMap, HeaderValue, header};
use overnight_config::ConsoleOrigin;

/// The attributes of a console cookie: other sites, scripts and, over https, other hosts cannot read or set it.
pub(super) struct Cookie {
    name: String,
    is_secure: bool,
}

impl Cookie {
    /// The session cookie. Browsers separate cookies of one machine's ports only by name.
    pub(super) fn session(origin: &ConsoleOrigin) -> Self {
        Self::named(origin, "session")
    }

    /// The cookie of a sign-in at an OpenID provider.
    pub(super) fn sign_in(origin: &ConsoleOrigin) -> Self {
        Self::named(origin, "sign_in")
    }

    /// The cookie that identifies a browser in which a user signed in by password.
    pub(super) fn mark(origin: &ConsoleOrigin) -> Self {
        Self::named(origin, "browser")
    }

    /// The cookie of the account whose pages the browser showed last. It grants no access.
    pub(super) fn account(origin: &ConsoleOrigin) -> Self {
        Self::named(origin, "account")
    }

    fn named(origin: &ConsoleOrigin, what: &str) -> Self {
        let name = match origin.is_secure {
            true => format!("__Host-overnight_{what}"),
            false => format!("overnight_{what}_{}", origin.port),
        };
        Self { name, is_secure: origin.is_secure }
    }

    pub(super) fn read<'h>(&self, headers: &'h HeaderMap) -> Option<&'h str> {
        let lines = headers.get_all(header::COOKIE).into_iter().filter_map(|line| line.to_str().ok());
        let mut pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
        pairs.find(|(name, _)| *name == self.name).map(|(_, value)| value)
    }

    /// Sets the cookie until the browser is closed. `Lax` instead of `Strict`, so that a link in an e-mail opens its page without another
    /// sign-in.
    pub(super) fn set(&self, value: &str) -> Option<HeaderValue> {
        self.write(value, "")
    }

    /// Sets the cookie for this many seconds. `Lax`, so that it is sent when the provider redirects back.
    pub(super) fn set_for(&self, value: &str, seconds: u32) -> Option<HeaderValue> {
        self.write(value, &format!("; Max-Age={seconds}"))
    }

    /// Deletes the cookie.
    pub(super) fn forget(&self) -> Option<HeaderValue> {
        self.write("", "; Max-Age=0")
    }

    fn write(&self, value: &str, age: &str) -> Option<HeaderValue> {
        let secure = if self.is_secure { "; Secure" } else { "" };
        let text = format!("{}={value}; Path=/; HttpOnly; SameSite=Lax{secure}{age}", self.name);
        HeaderValue::try_from(text).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin(is_secure: bool) -> ConsoleOrigin {
        ConsoleOrigin { hosts: Vec::new(), is_secure, port: 8080, base: String::new() }
    }

    #[test]
    fn a_cookie_is_for_its_host_alone_and_never_for_scripts() {
        let set = |is_secure| Cookie::session(&origin(is_secure)).set("abc").expect("a header");
        assert_eq!(set(true), "__Host-overnight_session=abc; Path=/; HttpOnly; SameSite=Lax; Secure");
        assert_eq!(set(false), "overnight_session_8080=abc; Path=/; HttpOnly; SameSite=Lax");
        let brief = Cookie::sign_in(&origin(true)).set_for("abc", 600).expect("a header");
        assert_eq!(
            brief,
            "__Host-overnight_sign_in=abc; Path=/; HttpOnly; SameSite=Lax; Secure; Max-Age=600"
        );
        let forgotten = Cookie::session(&origin(true)).forget().expect("a header");
        assert!(forgotten.to_str().expect("text").ends_with("Secure; Max-Age=0"));
    }

    #[test]
    fn a_cookie_is_found_among_others() {
        let mut headers = HeaderMap::new();
        headers.append(header::COOKIE, HeaderValue::from_static("a=b; xovernight_session_8080=no"));
        headers.append(header::COOKIE, HeaderValue::from_static("c; overnight_session_8080=yes=1"));
        assert_eq!(Cookie::session(&origin(false)).read(&headers), Some("yes=1"));
        assert_eq!(Cookie::session(&origin(true)).read(&headers), None);
    }
}
