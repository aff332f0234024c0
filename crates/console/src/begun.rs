//! The unfinished OpenID sign-ins of a browser: one per tab, all in one cookie, each with its secret and the requested page.

use url::form_urlencoded;

/// The maximum number of sign-ins kept, the newest.
const BEGUN_MAX: usize = 4;

/// The longest page kept, in encoded bytes. Four of them fit into a cookie.
const NEXT_BYTES_MAX: usize = 800;

/// Separates sign-ins, and a secret from its page. Neither contains it.
const BETWEEN: char = '~';
const WITHIN: char = '.';

/// In the order of the cookie, oldest first.
#[derive(Debug, Default)]
pub(super) struct BegunSignIns<'c>(Vec<&'c str>);

impl<'c> BegunSignIns<'c> {
    pub(super) fn read(cookie: Option<&'c str>) -> Self {
        let kept = cookie.unwrap_or_default().split(BETWEEN).filter(|begun| begun.contains(WITHIN));
        let mut kept: Vec<&str> = kept.filter(|begun| begun.len() <= NEXT_BYTES_MAX + 64).collect();
        kept.drain(..kept.len().saturating_sub(BEGUN_MAX));
        Self(kept)
    }

    /// The cookie's value after another sign-in begins. Omits a page that is too long.
    pub(super) fn and(&self, secret: &str, next: &str) -> String {
        let next: String = form_urlencoded::byte_serialize(next.as_bytes()).collect();
        let next = if next.len() > NEXT_BYTES_MAX { "" } else { &next };
        let begun = format!("{secret}{WITHIN}{next}");
        let kept = &self.0[self.0.len().saturating_sub(BEGUN_MAX - 1)..];
        kept.iter().copied().chain([&*begun]).collect::<Vec<_>>().join(&BETWEEN.to_string())
    }

    /// Removes the sign-in for which `is_it` holds, and returns its secret and page.
    pub(super) fn take(&mut self, is_it: impl Fn(&str) -> bool) -> Option<(&'c str, String)> {
        let split = |begun: &'c str| begun.split_once(WITHIN).unwrap_or_default();
        let place = self.0.iter().position(|begun| is_it(split(begun).0))?;
        let (secret, next) = split(self.0.remove(place));
        let next = form_urlencoded::parse(next.as_bytes()).next().map(|(next, _)| next.into_owned());
        Some((secret, next.unwrap_or_default()))
    }

    /// The cookie's value; `None` if it is empty.
    pub(super) fn kept(&self) -> Option<String> {
        (!self.0.is_empty()).then(|| self.0.join(&BETWEEN.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_tab_finishes_its_own_and_no_more_than_the_newest_are_kept() {
        let mut cookie = String::new();
        for number in 0..6 {
            cookie =
                BegunSignIns::read(Some(&cookie)).and(&format!("s{number}"), &format!("/a~b.{number}?c=d"));
        }
        let mut begun = BegunSignIns::read(Some(&cookie));
        assert!(begun.take(|secret| secret == "s1").is_none(), "the oldest are dropped");
        assert_eq!(begun.take(|secret| secret == "s3"), Some(("s3", "/a~b.3?c=d".to_owned())));
        assert!(begun.take(|secret| secret == "s3").is_none());
        for secret in ["s2", "s5", "s4"] {
            assert!(begun.kept().unwrap().contains(secret) && begun.take(|it| it == secret).is_some());
        }
        assert_eq!(begun.kept(), None);
    }

    #[test]
    fn what_a_browser_keeps_fits_into_a_cookie() {
        let (secret, long) = ("s".repeat(43), "/".repeat(NEXT_BYTES_MAX / 3));
        let mut cookie = String::new();
        for _ in 0..9 {
            cookie = BegunSignIns::read(Some(&cookie)).and(&secret, &long);
        }
        assert!(cookie.len() > 3 * NEXT_BYTES_MAX && cookie.len() < 3_700, "{}", cookie.len());
        assert_eq!(BegunSignIns::default().and("s", &"/".repeat(NEXT_BYTES_MAX)), "s.");
        assert_eq!(BegunSignIns::read(Some(&"x".repeat(5_000))).kept(), None);
        assert_eq!(BegunSignIns::read(Some("")).kept(), None);
    }
}
