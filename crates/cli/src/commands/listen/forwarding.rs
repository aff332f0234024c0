//! Forwards events to the user's own server.

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

/// Less than the service's 15 s, so that it receives the time-out as an answer.
const TIMEOUT: Duration = Duration::from_secs(14);

/// Forwarded headers.
const HEADERS: [&str; 4] = [ID_HEADER, TIMESTAMP_HEADER, SIGNATURE_HEADER, "content-type"];

pub(super) struct Target {
    http: reqwest::Client,
    url: Url,
}

/// Why there was no answer, and the answer for the service.
#[derive(Debug)]
pub(super) struct Failed {
    pub(super) status: StatusCode,
    pub(super) message: String,
}

/// Parses the address for clap.
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
        // Fails if a provider is already installed, which then serves.
        let _ = ring::default_provider().install_default();
        let mut builder = reqwest::Client::builder()
            .no_proxy()
            .redirect(Policy::none())
            .timeout(TIMEOUT)
            // A server in development often restarts, which closes idle connections.
            .pool_max_idle_per_host(0);
        if url.scheme() == "http" {
            builder = builder.tls_certs_only([]);
        }
        let http = builder
            .build()
            .map_err(|error| CliError::unusable(format!("nothing can be sent on: {}", root(&error))))?;
        Ok(Self { http, url })
    }

    /// The address without secret parts.
    pub(super) fn name(&self) -> String {
        format!("{}{}", self.url.origin().ascii_serialization(), self.url.path())
    }

    /// Sends the same body with the same headers; returns the status of the answer.
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

/// The innermost cause, on which a person can act.
fn root(error: &reqwest::Error) -> String {
    let mut cause: &dyn Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}
