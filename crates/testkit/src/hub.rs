//! A simulated Hub of models on real sockets: repositories with their files by the Hub's HTTP API, which redirects to another host for the
//! bytes. It can be gated, break connections, ignore ranges and send damaged bytes.

use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use serde_json::json;
use sha2::{Digest, Sha256};
use tokio::net::TcpListener;

use crate::stand::{Server, lock};

/// The commit of every branch of every repository.
pub const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

const CHUNK_BYTES: usize = 16 << 10;

/// A running Hub. Dropping it stops the Hub.
#[derive(Debug)]
pub struct SimHub {
    shared: Arc<Shared>,
    server: Server,
    _server_of_bytes: Server,
}

#[derive(Debug, Clone, Default)]
pub struct HubBehaviour {
    /// Without this token, repositories are gated.
    pub token: Option<String>,
    /// Each of the next answers with bytes of a file breaks after this number of bytes.
    pub breaks: Vec<usize>,
    /// Whether files are always sent from their start.
    pub ignores_ranges: bool,
    /// Whether the checksums of files are missing.
    pub states_no_sums: bool,
    /// Whether the last byte of each file is changed.
    pub is_damaged: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HubCall {
    /// Whether the host of the bytes got it.
    pub is_for_bytes: bool,
    pub path: String,
    /// The header `range`, or empty.
    pub range: String,
    /// The header `authorization`, or empty.
    pub authorization: String,
}

#[derive(Debug)]
struct Shared {
    /// By `OWNER/REPO`, then by path.
    repositories: BTreeMap<String, BTreeMap<String, Bytes>>,
    behaviour: Mutex<HubBehaviour>,
    calls: Mutex<Vec<HubCall>>,
    bytes_at: SocketAddr,
}

impl SimHub {
    /// Starts a Hub with these files (`OWNER/REPO`, path, bytes) on the current tokio runtime.
    pub async fn start(files: &[(&str, &str, &[u8])]) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let of_bytes = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let bytes_at = of_bytes.local_addr()?;
        let mut repositories: BTreeMap<String, BTreeMap<String, Bytes>> = BTreeMap::new();
        for (repository, path, bytes) in files {
            let files = repositories.entry((*repository).to_owned()).or_default();
            files.insert((*path).to_owned(), Bytes::copy_from_slice(bytes));
        }
        let shared = Shared { repositories, behaviour: Mutex::default(), calls: Mutex::default(), bytes_at };
        let shared = Arc::new(shared);
        let router = Router::new().fallback(answer).with_state(Arc::clone(&shared));
        let of_bytes_router = Router::new().fallback(answer_bytes).with_state(Arc::clone(&shared));
        let server = Server::start(listener, router)?;
        Ok(Self { shared, server, _server_of_bytes: Server::start(of_bytes, of_bytes_router)? })
    }

    /// The address in the form of `HF_ENDPOINT`.
    pub fn endpoint(&self) -> String {
        format!("http://{}", self.server.address)
    }

    pub fn behave(&self, behaviour: HubBehaviour) {
        *lock(&self.shared.behaviour) = behaviour;
    }

    /// Every call so far, in order.
    pub fn calls(&self) -> Vec<HubCall> {
        lock(&self.shared.calls).clone()
    }
}

impl Shared {
    fn note(&self, is_for_bytes: bool, uri: &Uri, headers: &HeaderMap) -> HubCall {
        let text = |name| headers.get(name).and_then(|it| it.to_str().ok()).unwrap_or_default().to_owned();
        let path = uri.path_and_query().map_or_else(String::new, ToString::to_string);
        let call = HubCall {
            is_for_bytes,
            path,
            range: text(header::RANGE),
            authorization: text(header::AUTHORIZATION),
        };
        lock(&self.calls).push(call.clone());
        call
    }

    fn behaviour(&self) -> HubBehaviour {
        lock(&self.behaviour).clone()
    }

    fn next_break(&self) -> Option<usize> {
        let breaks = &mut lock(&self.behaviour).breaks;
        (!breaks.is_empty()).then(|| breaks.remove(0))
    }
}

async fn answer(State(shared): State<Arc<Shared>>, uri: Uri, headers: HeaderMap) -> Response {
    let call = shared.note(false, &uri, &headers);
    if let Some(token) = shared.behaviour().token
        && call.authorization != format!("Bearer {token}")
    {
        let code = if call.authorization.is_empty() { "GatedRepo" } else { "Unauthorized" };
        return (StatusCode::UNAUTHORIZED, [("x-error-code", code)]).into_response();
    }
    let path = uri.path();
    if let Some((repository, revision)) =
        path.strip_prefix("/api/models/").and_then(|it| it.split_once("/revision/"))
    {
        return list(&shared, repository, revision);
    }
    let Some((repository, rest)) = path[1..].split_once("/resolve/") else { return no_repository() };
    let file = rest.split_once('/').filter(|(commit, _)| *commit == COMMIT).map(|(_, file)| file);
    match file
        .filter(|file| shared.repositories.get(repository).is_some_and(|files| files.contains_key(*file)))
    {
        Some(file) => {
            let location = format!("http://{}/{repository}/bytes/{file}", shared.bytes_at);
            (StatusCode::FOUND, [(header::LOCATION, location)]).into_response()
        }
        None => (StatusCode::NOT_FOUND, [("x-error-code", "EntryNotFound")]).into_response(),
    }
}

fn no_repository() -> Response {
    (StatusCode::NOT_FOUND, [("x-error-code", "RepoNotFound")]).into_response()
}

fn list(shared: &Shared, repository: &str, revision: &str) -> Response {
    let Some(files) = shared.repositories.get(repository) else { return no_repository() };
    if revision != "main" && revision != COMMIT {
        return (StatusCode::NOT_FOUND, [("x-error-code", "RevisionNotFound")]).into_response();
    }
    let has_sum = |path: &str| path.ends_with(".gguf") && !shared.behaviour().states_no_sums;
    let siblings = files.iter().map(|(path, bytes)| {
        // Large files have SHA-256 sums; other files have git's.
        let lfs =
            has_sum(path).then(|| json!({"sha256": sum(bytes), "size": bytes.len(), "pointerSize": 134}));
        json!({"rfilename": path, "size": bytes.len(), "blobId": &sum(path.as_bytes())[..40], "lfs": lfs})
    });
    let info =
        json!({"id": repository, "sha": COMMIT, "gated": false, "siblings": siblings.collect::<Vec<_>>()});
    ([(header::CONTENT_TYPE, "application/json")], info.to_string()).into_response()
}

fn sum(bytes: &[u8]) -> String {
    format!("{:x}", Sha256::digest(bytes))
}

async fn answer_bytes(State(shared): State<Arc<Shared>>, uri: Uri, headers: HeaderMap) -> Response {
    let call = shared.note(true, &uri, &headers);
    let behaviour = shared.behaviour();
    let file = uri.path()[1..]
        .split_once("/bytes/")
        .and_then(|(repository, file)| shared.repositories.get(repository)?.get(file).cloned());
    let Some(file) = file else { return StatusCode::NOT_FOUND.into_response() };
    let mut bytes = file.to_vec();
    if behaviour.is_damaged
        && let Some(last) = bytes.last_mut()
    {
        *last ^= 1;
    }
    let start =
        call.range.strip_prefix("bytes=").and_then(|range| range.strip_suffix('-')?.parse::<usize>().ok());
    let start = start.filter(|_| !behaviour.ignores_ranges).unwrap_or(0);
    if start >= bytes.len() {
        return StatusCode::RANGE_NOT_SATISFIABLE.into_response();
    }
    let (whole, rest) = (bytes.len(), Bytes::from(bytes.split_off(start)));
    let length = rest.len();
    let broken = shared.next_break().map(|after| after.min(length));
    let sent = rest.slice(..broken.unwrap_or(length));
    let mut chunks: Vec<io::Result<Bytes>> =
        sent.chunks(CHUNK_BYTES).map(|it| Ok(Bytes::copy_from_slice(it))).collect();
    if broken.is_some() {
        chunks.push(Err(io::Error::other("the connection breaks")));
    }
    let response = Response::builder().header(header::CONTENT_LENGTH, length);
    let response = if start > 0 {
        let range = format!("bytes {start}-{}/{whole}", whole - 1);
        response.status(StatusCode::PARTIAL_CONTENT).header(header::CONTENT_RANGE, range)
    } else {
        response
    };
    response.body(Body::from_stream(stream::iter(chunks))).unwrap_or_default()
}
