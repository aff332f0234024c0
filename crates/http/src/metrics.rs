//! The metrics for Prometheus, and measuring of calls.

use std::collections::BTreeMap;
use std::sync::{PoisonError, RwLock};
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::extract::{MatchedPath, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri};
use metrics::{Counter, Histogram, counter, gauge, histogram};
use overnight_app::Services;
use overnight_base::telemetry;

use super::answers;
use super::context::Shared;
use super::errors::{Answer, Refusal};
use super::extract::bearer;
use super::hosts;

const CALLS: &str = "overnight_http_requests_total";
const DURATION: &str = "overnight_http_request_duration_seconds";
const CONNECTIONS: &str = "overnight_http_connections";
const WRITES_WAITING: &str = "overnight_store_writes_waiting";
const LOG_AGE: &str = "overnight_store_log_age_seconds";
const LOG_BYTES: &str = "overnight_store_log_bytes";
const DISK_FREE: &str = "overnight_disk_free_bytes";
const DISK_RESERVE: &str = "overnight_disk_reserve_bytes";

/// `GET /metrics`, with the token as `Authorization: Bearer` if the settings name one, and otherwise by a name of the service.
pub(super) async fn get(State(context): State<Shared>, uri: Uri, headers: HeaderMap) -> Answer {
    let access = &context.services.metrics_access;
    if !access.admits(bearer(&headers)) {
        return Err(Refusal::NoMetricsToken);
    }
    if !access.has_token() && !hosts::is_own(hosts::named(&uri, &headers), &context.services.config()) {
        return Err(Refusal::ForeignHost);
    }
    measure(&context.services).await;
    let text = telemetry::render();
    let content_type = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    Ok(answers::typed(StatusCode::OK, content_type, Body::from(text)))
}

/// Sets the gauges that are measured on request.
async fn measure(Services { store, clock, .. }: &Services) {
    gauge!(WRITES_WAITING).set(store.writes_waiting() as f64);
    if let Some(age) = store.log_age_ms(clock.now()) {
        gauge!(LOG_AGE).set(age as f64 / 1_000.0);
    }
    if let Some(bytes) = store.log_bytes() {
        gauge!(LOG_BYTES).set(bytes as f64);
    }
    // An unreadable database is reported elsewhere.
    let space = store.disk_space().await.ok().flatten();
    if let Some(space) = space.filter(|space| space.reserve > 0) {
        gauge!(DISK_FREE).set(space.free as f64);
        gauge!(DISK_RESERVE).set(space.reserve as f64);
    }
}

pub(super) struct ConnectionCounter;

impl ConnectionCounter {
    /// Counts the connection until the value is dropped.
    pub(super) fn open() -> Self {
        gauge!(CONNECTIONS).increment(1.0);
        Self
    }
}

impl Drop for ConnectionCounter {
    fn drop(&mut self) {
        gauge!(CONNECTIONS).decrement(1.0);
    }
}

pub(super) struct CallTimer {
    began_at: Instant,
    method: &'static str,
    route: Option<MatchedPath>,
}

impl CallTimer {
    #[expect(clippy::disallowed_methods, reason = "a duration that is shown and decides nothing")]
    pub(super) fn start(method: &Method, route: Option<&MatchedPath>) -> Self {
        let known = [Method::GET, Method::POST, Method::HEAD, Method::PUT, Method::DELETE, Method::OPTIONS];
        let names = ["GET", "POST", "HEAD", "PUT", "DELETE", "OPTIONS"];
        let place = known.iter().position(|known| known == method);
        let method = place.map_or("other", |place| names[place]);
        Self { began_at: Instant::now(), method, route: route.cloned() }
    }

    /// The method; `other` for one that no route accepts.
    pub(super) fn method(&self) -> &'static str {
        self.method
    }

    /// The matched path with the names of its parameters; `unmatched` if there is none.
    pub(super) fn route(&self) -> &str {
        self.route.as_ref().map_or("unmatched", MatchedPath::as_str)
    }

    pub(super) fn elapsed(&self) -> Duration {
        self.began_at.elapsed()
    }

    /// Records the call with the answer's status.
    pub(super) fn stop(self, status: StatusCode) {
        let duration = self.began_at.elapsed();
        let kind = (self.method, status.as_u16());
        let known = KNOWN_FIGURES.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(figures) = known.get(&kind).and_then(|routes| routes.get(self.route())) {
            figures.count(duration);
            return;
        }
        drop(known);
        let figures = CallFigures::find(self.route(), self.method, status);
        figures.count(duration);
        let mut known = KNOWN_FIGURES.write().unwrap_or_else(PoisonError::into_inner);
        known.entry(kind).or_default().insert(self.route().to_owned(), figures);
    }
}

type FiguresByCall = BTreeMap<(&'static str, u16), BTreeMap<String, CallFigures>>;

/// Cached, because a lookup costs more than the count.
static KNOWN_FIGURES: RwLock<FiguresByCall> = RwLock::new(BTreeMap::new());

/// The counters of one route, method and status.
struct CallFigures {
    calls: Counter,
    durations: Histogram,
}

impl CallFigures {
    fn find(route: &str, method: &'static str, status: StatusCode) -> Self {
        let route = route.to_owned();
        let durations = histogram!(DURATION, "route" => route.clone(), "method" => method);
        let status = status.as_str().to_owned();
        let calls = counter!(CALLS, "route" => route, "method" => method, "status" => status);
        Self { calls, durations }
    }

    fn count(&self, duration: Duration) {
        self.durations.record(duration);
        self.calls.increment(1);
    }
}
