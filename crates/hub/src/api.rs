//! The used part of the Hub's HTTP API: the files of a repository at a revision, and the bytes of a file.

use std::error::Error;
use std::sync::Once;
use std::time::Duration;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::header::{AUTHORIZATION, HeaderValue, RANGE};
use reqwest::{Client, Response, StatusCode};
use rustls::crypto::ring;
use serde::Deserialize;

use crate::{HubError, HubName, HubOptions};

const CONNECT_MAX: Duration = Duration::from_secs(10);
/// The longest silence of the Hub.
const SILENCE_MAX: Duration = Duration::from_secs(30);
/// Longest list of files: a repository has a few hundred.
const INFO_BYTES_MAX: usize = 16 << 20;

const IN_SEGMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');
const IN_PATH: &AsciiSet = &IN_SEGMENT.remove(b'/');

/// A repository at one commit.
#[derive(Debug)]
pub(crate) struct Repository {
    pub(crate) commit: String,
    pub(crate) files: Vec<RemoteFile>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RemoteFile {
    /// Relative to the repository.
    pub(crate) path: String,
    pub(crate) bytes: u64,
    /// The name of its blob in the cache: its SHA-256 if the Hub gives it, else git's hash.
    pub(crate) blob: String,
    /// Only large files have one.
    pub(crate) sha256: Option<String>,
}

#[cfg(test)]
impl RemoteFile {
    pub(crate) fn named(path: &str) -> Self {
        Self { path: path.to_owned(), bytes: 0, blob: String::new(), sha256: None }
    }
}

#[derive(Deserialize)]
struct Info {
    sha: String,
    #[serde(default)]
    siblings: Vec<Sibling>,
}

#[derive(Deserialize)]
struct Sibling {
    rfilename: String,
    size: Option<u64>,
    #[serde(rename = "blobId")]
    blob_id: Option<String>,
    lfs: Option<Lfs>,
}

#[derive(Deserialize)]
struct Lfs {
    sha256: String,
    size: u64,
}

pub(crate) struct Api {
    http: Client,
    endpoint: String,
    token: Option<HeaderValue>,
}

impl Api {
    pub(crate) fn new(options: &HubOptions) -> Result<Self, HubError> {
        static PROVIDER: Once = Once::new();
        PROVIDER.call_once(|| {
            // It fails if the program has installed a provider, which is used then.
            let _ = ring::default_provider().install_default();
        });
        let bad = |what: String| HubError::BadAnswer { endpoint: options.endpoint.clone(), what };
        let builder = || {
            // Redirects are followed, because files are on other hosts, which do not receive the token.
            Client::builder()
                .user_agent(concat!("overnight/", env!("CARGO_PKG_VERSION")))
                .connect_timeout(CONNECT_MAX)
                .read_timeout(SILENCE_MAX)
        };
        // A mirror over HTTP needs no certificates.
        let plain = options.endpoint.starts_with("http://");
        let http = builder()
            .build()
            .or_else(|error| if plain { builder().tls_certs_only([]).build() } else { Err(error) });
        let http = http.map_err(|error| bad(format!("cannot be called: {}", root(&error))))?;
        let token = options.token.as_ref().map(|token| {
            let mut value = HeaderValue::from_str(&format!("Bearer {token}")).map_err(|_| {
                bad("cannot be sent HF_TOKEN: it has characters that no header can carry".to_owned())
            })?;
            value.set_sensitive(true);
            Ok(value)
        });
        Ok(Self { http, endpoint: options.endpoint.clone(), token: token.transpose()? })
    }

    /// Fetches the list of files at the revision that `name` means.
    pub(crate) async fn repository(&self, name: &HubName) -> Result<Repository, HubError> {
        let revision = utf8_percent_encode(name.revision(), IN_SEGMENT);
        let url =
            format!("{}/api/models/{}/revision/{revision}?blobs=true", self.endpoint, name.repository());
        let mut response = self.get(name, &url, 0).await?;
        let mut text = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| self.unreachable(&error))? {
            if text.len() + chunk.len() > INFO_BYTES_MAX {
                return Err(self.bad("lists too many files"));
            }
            text.extend_from_slice(&chunk);
        }
        let info: Info = serde_json::from_slice(&text).map_err(|_| self.bad("answers no list of files"))?;
        if !is_hexadecimal(&info.sha) {
            return Err(self.bad("names no commit"));
        }
        let files = info.siblings.into_iter().filter_map(read_file).collect();
        Ok(Repository { commit: info.sha, files })
    }

    /// Fetches the bytes of a file from `start`.
    pub(crate) async fn file(
        &self,
        name: &HubName,
        commit: &str,
        path: &str,
        start: u64,
    ) -> Result<Response, HubError> {
        let path = utf8_percent_encode(path, IN_PATH);
        let url = format!("{}/{}/resolve/{commit}/{path}", self.endpoint, name.repository());
        self.get(name, &url, start).await
    }

    async fn get(&self, name: &HubName, url: &str, start: u64) -> Result<Response, HubError> {
        let mut request = self.http.get(url);
        if let Some(token) = &self.token {
            request = request.header(AUTHORIZATION, token);
        }
        if start > 0 {
            request = request.header(RANGE, format!("bytes={start}-"));
        }
        let response = request.send().await.map_err(|error| self.unreachable(&error))?;
        match response.status() {
            status if status.is_success() || status == StatusCode::RANGE_NOT_SATISFIABLE => Ok(response),
            status => Err(self.refusal(name, &response, status)),
        }
    }

    fn refusal(&self, name: &HubName, response: &Response, status: StatusCode) -> HubError {
        let code = response.headers().get("x-error-code").and_then(|code| code.to_str().ok());
        let host = response.url().host_str().unwrap_or_default();
        match (code, status.as_u16()) {
            // The file host, which knows neither names nor tokens.
            _ if !response.url().as_str().starts_with(&self.endpoint) => {
                self.bad(&format!("redirects to {host}, which answers {status}"))
            }
            (Some("EntryNotFound"), _) => self.bad("has no such file any more"),
            (Some("GatedRepo"), _) | (None, 403) => HubError::Gated {
                name: name.clone(),
                page: format!("{}/{}", self.endpoint, name.repository()),
            },
            (Some("RevisionNotFound"), _) => HubError::NoRevision(name.clone()),
            (Some("RepoNotFound"), _) | (_, 404) => HubError::NoRepository(name.clone()),
            (_, 401) if self.token.is_some() => HubError::BadToken(name.clone()),
            // The Hub answers 401 for a private repository without access.
            (_, 401) => HubError::NoRepository(name.clone()),
            _ => self.bad(&format!("answers {status}")),
        }
    }

    pub(crate) fn endpoint(&self) -> &str {
        &self.endpoint
    }

    pub(crate) fn bad(&self, what: &str) -> HubError {
        HubError::BadAnswer { endpoint: self.endpoint.clone(), what: what.to_owned() }
    }

    pub(crate) fn unreachable(&self, error: &reqwest::Error) -> HubError {
        let host = error.url().and_then(|url| url.host_str()).filter(|host| !self.endpoint.contains(host));
        let of = host.map_or_else(String::new, |host| format!("{host}: "));
        HubError::Unreachable { endpoint: self.endpoint.clone(), reason: format!("{of}{}", root(error)) }
    }
}

/// Reads an entry of a list; `None` if it lacks a required member or its path leaves the repository.
fn read_file(sibling: Sibling) -> Option<RemoteFile> {
    let Sibling { rfilename: path, size, blob_id, lfs } = sibling;
    let (bytes, blob, sha256) = match lfs {
        Some(Lfs { sha256, size }) => (size, sha256.clone(), Some(sha256)),
        None => (size?, blob_id?, None),
    };
    let is_whole = sha256.as_ref().is_none_or(|sum| sum.len() == 64);
    (crate::name::is_path(&path) && is_hexadecimal(&blob) && is_whole).then_some(RemoteFile {
        path,
        bytes,
        blob,
        sha256,
    })
}

pub(crate) fn is_hexadecimal(text: &str) -> bool {
    (1..=64).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'a'..=b'f'))
}

/// The innermost cause, which is the most specific.
fn root(error: &dyn Error) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}
