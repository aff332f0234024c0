//! Events sent on to the user's own server.

use std::error::Error;
use std::time::Duration;

use bytes::Bytes;
use hyper::StatusCode;
use hyper::header::HeaderMap;
use overnight_domain::webhooks::signature::{ID_HEADER, SIGNATURE_HEADER, TIMESTAMP_HEADER};
use reqwest::Url;
use reqwest::redirect::Policy;
use rustls::crypto::ring;

use crate::errors::CliError;

/// The service gives up after 15 s, so that it is told of a time-out as one.
const TIMEOUT: Duration = Duration::from_secs(14);

/// What is passed on beside the body.
const HEADERS: [&str; 4] = [ID_HEADER, TIMESTAMP_HEADER, SIGNATURE_HEADER, "content-type"];

/// The user's own server.
pub(super) struct Target {
    http: reqwest::Client,
    url: Url,
}

/// Why it gave no answer, and what the service is answered instead.
#[derive(Debug)]
pub(super) struct Failed {
    pub(super) status: StatusCode,
    pub(super) message: String,
}

/// Reads where to send on, as clap wants its readers.
pub(super) fn parse(text: &str) -> Result<Url, String> {
    let url = Url::parse(text).map_err(|error| format!("{error}; such as http://127.0.0.1:3000/hooks"))?;
    if matches!(url.scheme(), "http" | "https") && url.has_host() {
        Ok(url)
    } else {
        Err("it must begin with http:// or https://".to_owned())
    }
}

impl Target {
    pub(super) fn new(url: Url) -> Result<Self, CliError> {
        // It refuses where one is installed already, which then serves.
        let _ = ring::default_provider().install_default();
        let mut builder = reqwest::Client::builder()
            .no_proxy()
            .redirect(Policy::none())
            .timeout(TIMEOUT)
            // What is being developed is often restarted, and an idle connection would not outlive it.
            .pool_max_idle_per_host(0);
        if url.scheme() == "http" {
            builder = builder.tls_certs_only([]);
        }
        let http = builder
            .build()
            .map_err(|error| CliError::unusable(format!("nothing can be sent on: {}", root(&error))))?;
        Ok(Self { http, url })
    }

    /// Where it is, without what may be secret of it.
    pub(super) fn name(&self) -> String {
        format!("{}{}", self.url.origin().ascii_serialization(), self.url.path())
    }

    /// Sends the same body with the same headers; the status that comes back.
    pub(super) async fn send(&self, headers: &HeaderMap, body: Bytes) -> Result<StatusCode, Failed> {
        let mut passed = HeaderMap::new();
        for (name, value) in headers.iter().filter(|(name, _)| HEADERS.contains(&name.as_str())) {
            passed.append(name, value.clone());
        }
        let sent = self.http.post(self.url.clone()).headers(passed).body(body).send().await;
        sent.map(|response| response.status()).map_err(|error| Failed {
            status: if error.is_timeout() { StatusCode::GATEWAY_TIMEOUT } else { StatusCode::BAD_GATEWAY },
            message: root(&error),
        })
    }
}

/// The innermost cause, which is the one a person can act on.
fn root(error: &reqwest::Error) -> String {
    let mut cause: &dyn Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}
