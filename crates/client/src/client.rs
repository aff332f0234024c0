//! The client and its settings.

use std::sync::Once;
use std::time::Duration;

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::redirect::Policy;
use reqwest::{ClientBuilder, Url};
use rustls::crypto::ring;

use crate::Error;

const CONNECT_MAX: Duration = Duration::from_secs(10);
/// The longest silence of the service. Cancelling a large batch takes a while before the answer.
const SILENCE_MAX: Duration = Duration::from_secs(120);
const RETRIES_DEFAULT: u32 = 5;

/// Calls one service with one API key. Clones share their connections.
#[derive(Debug, Clone)]
pub struct Client {
    pub(crate) http: reqwest::Client,
    pub(crate) base_url: Url,
    pub(crate) retries: u32,
}

impl Client {
    /// A client of the service at `base_url`, such as `http://127.0.0.1:8080`. Connects at the first call. Fails with [`Error::Invalid`] if
    /// `base_url` is not an `http` or `https` URL, if a header cannot hold `api_key`, or if the system has no certificates for an `https`
    /// service.
    pub fn new(base_url: &str, api_key: &str) -> Result<Self, Error> {
        let base_url = parse_base_url(base_url)?;
        let mut key = HeaderValue::from_str(api_key).map_err(|_| {
            Error::Invalid("the API key holds characters that no header can carry".to_owned())
        })?;
        key.set_sensitive(true);
        let builder = reqwest::Client::builder()
            .default_headers(HeaderMap::from_iter([(HeaderName::from_static("x-api-key"), key)]))
            .user_agent(concat!("overnight-client/", env!("CARGO_PKG_VERSION")))
            // A redirect would send the key to another address.
            .redirect(Policy::none())
            .connect_timeout(CONNECT_MAX)
            .read_timeout(SILENCE_MAX);
        let http = for_target(builder, &base_url).build().map_err(|error| {
            Error::Invalid(format!("no client can be set up: {}", crate::errors::root(&error)))
        })?;
        Ok(Self { http, base_url, retries: RETRIES_DEFAULT })
    }

    /// The same client with at most `retries` repeats of a call (default 5).
    #[must_use]
    pub fn with_retries(self, retries: u32) -> Self {
        Self { retries, ..self }
    }

    /// The URL of the path `segments` under the base URL.
    pub(crate) fn url(&self, segments: &[&str]) -> Result<Url, Error> {
        // URL parsers drop these segments, so the call would use another path.
        if let Some(segment) = segments.iter().find(|segment| matches!(**segment, "" | "." | "..")) {
            return Err(Error::Invalid(format!("{segment:?} is not an identifier")));
        }
        let mut url = self.base_url.clone();
        url.path_segments_mut()
            .map_err(|()| Error::Invalid("the base URL has no path".to_owned()))?
            .pop_if_empty()
            .extend(segments);
        Ok(url)
    }

    /// The same with the parameters that have a value.
    pub(crate) fn url_with<const N: usize>(
        &self,
        segments: &[&str],
        parameters: [(&str, Option<String>); N],
    ) -> Result<Url, Error> {
        let mut url = self.url(segments)?;
        for (name, value) in parameters {
            if let Some(value) = value {
                url.query_pairs_mut().append_pair(name, &value);
            }
        }
        Ok(url)
    }
}

fn parse_base_url(text: &str) -> Result<Url, Error> {
    let invalid = |reason: &str| Error::Invalid(format!("the base URL {text:?} {reason}"));
    let mut url = Url::parse(text).map_err(|error| invalid(&format!("cannot be read: {error}")))?;
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Err(invalid("must begin with http:// or https://"));
    }
    url.set_query(None);
    url.set_fragment(None);
    Ok(url)
}

/// A local service is reached without a proxy, and a service without TLS needs no certificates.
fn for_target(mut builder: ClientBuilder, base_url: &Url) -> ClientBuilder {
    static PROVIDER: Once = Once::new();
    PROVIDER.call_once(|| {
        // It fails if the program has installed a provider, which is used then.
        let _ = ring::default_provider().install_default();
    });
    if is_loopback(base_url) {
        builder = builder.no_proxy();
    }
    if base_url.scheme() == "http" {
        builder = builder.tls_certs_only([]);
    }
    builder
}

fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    let address = host.parse::<std::net::IpAddr>();
    host == "localhost" || host.ends_with(".localhost") || address.is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(base_url: &str, segments: &[&str]) -> String {
        let client = Client::new(base_url, "key").expect("a client");
        client.url(segments).map_or_else(|error| error.to_string(), String::from)
    }

    #[test]
    fn paths_stand_under_the_base_url() {
        assert_eq!(url("http://a:1", &["v1", "requests"]), "http://a:1/v1/requests");
        assert_eq!(url("https://a/b/?c#d", &["v1", "requests"]), "https://a/b/v1/requests");
    }

    #[test]
    fn an_identifier_never_leads_to_another_path() {
        assert_eq!(url("http://a", &["v1", "a/../b?c"]), "http://a/v1/a%2F..%2Fb%3Fc");
        assert_eq!(url("http://a", &["v1", ".."]), r#"".." is not an identifier"#);
        assert_eq!(url("http://a", &["v1", ""]), r#""" is not an identifier"#);
    }

    #[test]
    fn what_cannot_be_called_is_refused() {
        for base_url in ["", "127.0.0.1:8080", "ftp://a", "unix:/run/a"] {
            assert!(matches!(Client::new(base_url, "key"), Err(Error::Invalid(_))), "{base_url}");
        }
        assert!(matches!(Client::new("http://a", "a\nb"), Err(Error::Invalid(_))));
    }

    #[test]
    fn the_key_is_not_shown() {
        let client = Client::new("http://a", "on_live_secret").expect("a client");
        assert!(!format!("{client:?}").contains("secret"));
    }

    #[test]
    fn only_this_machine_is_loopback() {
        let check = |url: &str| is_loopback(&Url::parse(url).expect("a URL"));
        assert!(check("http://127.0.0.2") && check("http://[::1]:80") && check("http://localhost:1"));
        assert!(!check("http://10.0.0.1") && !check("http://localhost.example.com"));
    }
}
