//! Sends spans to the collector, in batches. While a collector is down its spans are lost, and nothing else.

use std::io;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::FutureExt;
use http_body_util::Full;
use hyper::header::{CONTENT_TYPE, HeaderName, HeaderValue, USER_AGENT};
use hyper::{Method, Request, Uri};
use overnight_base::clock::SharedClock;
use overnight_base::secrets::Secret;
use overnight_config::{OutgoingConfig, TracesConfig};
use thiserror::Error;
use tokio::sync::mpsc::Receiver;

use super::otlp::{self, Resource};
use super::{Span, headers};
use crate::transport::{AGENT, Transport, in_words, read_whole, retry_after};

/// Spans of one call.
const BATCH_MAX: usize = 512;

/// How long a partial batch waits for more spans.
const GATHER_MS: i64 = 1_000;

const CONNECT_TIMEOUT_MS: i64 = 5_000;
const CALL_TIMEOUT_MS: i64 = 10_000;

/// How long a rejected batch is retried, and the pause between retries.
const RETRY_FOR_MS: i64 = 60_000;
const RETRY_MS: i64 = 5_000;

/// The time limit for the last spans when the process ends.
const FLUSH_MS: i64 = 3_000;

const ANSWER_BYTES_MAX: usize = 64 << 10;

/// Why traces cannot be sent as configured, for the operator.
#[derive(Debug, Error)]
pub enum TracesUnusable {
    /// The variable of the collector's headers is unusable.
    #[error(
        "traces: the environment variable {variable}, which should hold headers for the collector, {reason}"
    )]
    Headers { variable: String, reason: &'static str },
    #[error("traces: {0}")]
    Tls(#[from] io::Error),
    #[error("traces: the address of the collector cannot be called")]
    Endpoint,
}

pub struct Exporter {
    recorded: Receiver<Span>,
    transport: Transport,
    uri: Uri,
    headers: Vec<(HeaderName, HeaderValue)>,
    resource: Resource,
    clock: SharedClock,
    is_failing: bool,
}

enum Failure {
    /// May succeed later, after this time if the collector names one.
    Passing {
        why: String,
        retry_after_ms: Option<i64>,
    },
    Lasting(String),
}

impl Exporter {
    pub(super) fn new(
        (config, outgoing): (&TracesConfig, &OutgoingConfig),
        node: Option<String>,
        recorded: Receiver<Span>,
        clock: SharedClock,
    ) -> Result<Self, TracesUnusable> {
        let url = format!("{}/v1/traces", config.endpoint.as_str().trim_end_matches('/'));
        let uri = Uri::try_from(url).map_err(|_| TracesUnusable::Endpoint)?;
        let headers = config.headers_env.as_ref().map_or(Ok(Vec::new()), |variable| {
            let unusable = |reason| TracesUnusable::Headers { variable: variable.clone(), reason };
            let secret = Secret::read_as_it_is(std::env::var_os(variable)).map_err(unusable)?;
            headers::read(secret.reveal()).map_err(unusable)
        })?;
        let scheme = config.endpoint.scheme();
        let transport = Transport::open(scheme, outgoing, clock.clone(), CONNECT_TIMEOUT_MS)?;
        let resource = Resource { service: config.service_name.clone(), node };
        Ok(Self { recorded, transport, uri, headers, resource, clock, is_failing: false })
    }

    /// Sends until stopped, and then the rest for a few seconds. A call in progress is not cancelled: the collector may have stored its
    /// spans, and would get them twice.
    pub async fn run(mut self, stopped: impl Future<Output = ()>) {
        let stopped = stopped.shared();
        let (clock, is_stopped) = (Arc::clone(&self.clock), stopped.clone());
        let too_late = async move {
            is_stopped.await;
            clock.sleep_until(clock.now() + FLUSH_MS).await;
        };
        let mut batch = Vec::new();
        tokio::select! {
            () = self.work(&mut batch, stopped) => {}
            () = too_late => {}
        }
        let left = batch.len() + self.recorded.len();
        if left > 0 {
            drop_spans(left, "shutdown");
            tracing::warn!(spans = left, "the last spans of traces were not exported");
        }
    }

    async fn work(&mut self, batch: &mut Vec<Span>, mut stopped: impl Future<Output = ()> + Clone + Unpin) {
        loop {
            tokio::select! {
                biased;
                () = &mut stopped => break,
                () = self.gather(batch) => {}
            }
            if !self.deliver(batch, stopped.clone()).await {
                break;
            }
            batch.clear();
        }
        self.flush(batch).await;
    }

    /// Gathers a batch. If dropped, `batch` keeps the gathered spans.
    async fn gather(&mut self, batch: &mut Vec<Span>) {
        if batch.is_empty() && self.recorded.recv_many(batch, BATCH_MAX).await == 0 {
            return std::future::pending().await;
        }
        if batch.len() < BATCH_MAX {
            self.clock.sleep_until(self.clock.now() + GATHER_MS).await;
            self.fill(batch);
        }
    }

    /// Retries a batch until it is taken or given up. Returns false if stopped before that.
    async fn deliver(&mut self, batch: &[Span], mut stopped: impl Future<Output = ()> + Unpin) -> bool {
        let give_up_at = self.clock.now() + RETRY_FOR_MS;
        while let Err(failure) = self.send(batch).await {
            let (reason, wait_ms) = match &failure {
                Failure::Lasting(_) => ("refused", None),
                Failure::Passing { retry_after_ms, .. } => {
                    ("unavailable", Some(retry_after_ms.unwrap_or(RETRY_MS)))
                }
            };
            self.tell(&failure);
            let again_at = wait_ms.map(|ms| self.clock.now().saturating_add(ms.max(RETRY_MS)));
            let Some(again_at) = again_at.filter(|at| (1..=RETRY_FOR_MS).contains(&(give_up_at - at))) else {
                drop_spans(batch.len(), reason);
                break;
            };
            tokio::select! {
                () = &mut stopped => return false,
                () = self.clock.sleep_until(again_at) => {}
            }
        }
        true
    }

    async fn flush(&mut self, batch: &mut Vec<Span>) {
        loop {
            self.fill(batch);
            if batch.is_empty() || self.send(batch).await.is_err() {
                return;
            }
            batch.clear();
        }
    }

    fn fill(&mut self, batch: &mut Vec<Span>) {
        while batch.len() < BATCH_MAX {
            let Ok(span) = self.recorded.try_recv() else { return };
            batch.push(span);
        }
    }

    /// Logs once for each outage.
    fn tell(&mut self, failure: &Failure) {
        let (Failure::Passing { why, .. } | Failure::Lasting(why)) = failure;
        if !std::mem::replace(&mut self.is_failing, true) {
            tracing::warn!(collector = %self.uri, "traces are not exported: {why}");
        }
    }

    async fn send(&mut self, batch: &[Span]) -> Result<(), Failure> {
        let body = otlp::export(&self.resource, batch);
        let taken = tokio::select! {
            taken = self.call(body.into()) => taken?,
            () = self.clock.sleep_until(self.clock.now() + CALL_TIMEOUT_MS) => {
                let why = format!("no answer within {} s", CALL_TIMEOUT_MS / 1_000);
                return Err(Failure::Passing { why, retry_after_ms: None });
            }
        };
        if std::mem::take(&mut self.is_failing) {
            tracing::info!(collector = %self.uri, "traces are exported again");
        }
        let rejected = otlp::rejected(&taken).min(batch.len() as u64);
        metrics::counter!("overnight_spans_exported_total").increment(batch.len() as u64 - rejected);
        drop_spans(usize::try_from(rejected).unwrap_or(0), "refused");
        Ok(())
    }

    /// The collector's answer, if it took the body.
    async fn call(&self, body: Bytes) -> Result<Bytes, Failure> {
        let passing = |why| Failure::Passing { why, retry_after_ms: None };
        let mut request = Request::builder()
            .method(Method::POST)
            .uri(self.uri.clone())
            .header(USER_AGENT, AGENT)
            .header(CONTENT_TYPE, "application/json");
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        let request = request.body(Full::new(body)).map_err(|error| Failure::Lasting(in_words(&error)))?;
        let response = self.transport.send(request).await.map_err(|error| passing(in_words(&error)))?;
        let status = response.status();
        if status.is_success() {
            // The status says that it took them.
            return Ok(read_whole(response.into_body(), ANSWER_BYTES_MAX).await.unwrap_or_default());
        }
        let why = format!("the collector answers with status {}", status.as_u16());
        Err(match status.as_u16() {
            429 | 502 | 503 | 504 => {
                let retry_after_ms = retry_after::read(response.headers(), self.clock.now());
                Failure::Passing { why, retry_after_ms }
            }
            _ => Failure::Lasting(why),
        })
    }
}

fn drop_spans(count: usize, reason: &'static str) {
    metrics::counter!("overnight_spans_dropped_total", "reason" => reason).increment(count as u64);
}
