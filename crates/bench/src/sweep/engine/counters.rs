//! A real engine's own report, and its use of resources.

use std::io;
use std::time::Duration;

use bytes::Bytes;
use hyper::Uri;

use crate::download::Connection;
use crate::process;

const QUERIES: &str = "vllm:prefix_cache_queries_total";
const HITS: &str = "vllm:prefix_cache_hits_total";

#[derive(Debug)]
pub(super) struct Place {
    host: String,
    port: u16,
    /// The path before `/v1`.
    prefix: String,
}

/// Counts since the engine's start.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Counters {
    /// Prompt tokens looked up in the prefix cache, and tokens found; `None` if the engine does not report them.
    pub(super) cache: Option<(f64, f64)>,
    /// `None` without a process ID.
    pub(super) cpu_time: Option<Duration>,
}

impl Place {
    /// Parses a base URL, `http://HOST:PORT/v1`.
    pub(super) fn parse(base_url: &str) -> io::Result<Self> {
        let unusable = || io::Error::other(format!("{base_url} is not like http://127.0.0.1:8000/v1"));
        let uri: Uri = base_url.parse().map_err(|_| unusable())?;
        if uri.scheme_str() != Some("http") {
            return Err(unusable());
        }
        let host = uri.host().ok_or_else(unusable)?.to_owned();
        let prefix = uri.path().trim_end_matches('/').trim_end_matches("/v1").to_owned();
        Ok(Self { host, port: uri.port_u16().unwrap_or(80), prefix })
    }

    async fn connect(&self) -> io::Result<Connection> {
        let mut addresses = tokio::net::lookup_host((self.host.as_str(), self.port)).await?;
        let address = addresses.next().ok_or_else(|| io::Error::other("the engine's host has no address"))?;
        Connection::open(address, "").await
    }

    /// Asks the engine to empty its prefix cache, which vLLM does only in its development mode.
    pub(super) async fn forget_prefixes(&self) -> io::Result<()> {
        // Prompts begin with a salt of their round, so a cache that is not emptied has no hits for them.
        let _ =
            self.connect().await?.post(&format!("{}/reset_prefix_cache", self.prefix), Bytes::new()).await;
        Ok(())
    }

    pub(super) async fn count(&self, pid: Option<u32>) -> io::Result<Counters> {
        let report = self.connect().await?.get(&format!("{}/metrics", self.prefix)).await;
        // Without a report, the cache figures are absent.
        let report = report.map(|report| String::from_utf8_lossy(&report).into_owned()).unwrap_or_default();
        let cache = sum(&report, QUERIES).zip(sum(&report, HITS));
        let cpu_time = pid.map(process::cpu_time_of_tree).transpose()?;
        Ok(Counters { cache, cpu_time })
    }
}

impl Counters {
    /// The share of prompt tokens found since `before`.
    pub(super) fn hit_rate_since(&self, before: &Self) -> Option<f64> {
        let ((queries, hits), (queries_before, hits_before)) = self.cache.zip(before.cache)?;
        Some((hits - hits_before) / (queries - queries_before).max(1.0))
    }

    pub(super) fn cpu_seconds_since(&self, before: &Self) -> Option<f64> {
        let (now, before) = self.cpu_time.zip(before.cpu_time)?;
        Some(now.saturating_sub(before).as_secs_f64())
    }
}

/// The sum of all samples of a family in Prometheus' text format; `None` without samples.
fn sum(report: &str, family: &str) -> Option<f64> {
    let samples = report.lines().filter_map(|line| {
        let rest = line.strip_prefix(family)?;
        if !rest.starts_with(['{', ' ']) {
            return None;
        }
        rest.rsplit_once(' ')?.1.parse::<f64>().ok()
    });
    samples.reduce(|one, other| one + other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_family_is_summed_over_its_samples_and_an_absent_one_is_none() {
        let report = "# TYPE vllm:prefix_cache_hits_total counter\n\
             vllm:prefix_cache_hits_total{engine=\"0\",model_name=\"a b\"} 48.0\n\
             vllm:prefix_cache_hits_total{engine=\"1\"} 2.0\nvllm:prefix_cache_hits_total_created{engine=\"0\"} 1.7e9\n";
        assert_eq!(sum(report, HITS), Some(50.0));
        assert_eq!(sum(report, QUERIES), None);
        let (before, after) = (
            Counters { cache: Some((100.0, 50.0)), cpu_time: None },
            Counters { cache: Some((300.0, 200.0)), cpu_time: None },
        );
        assert_eq!(after.hit_rate_since(&before), Some(0.75));
    }

    #[test]
    fn a_base_url_is_an_address_and_a_prefix() {
        let place = Place::parse("http://gpu-0:8000/llama/v1/").unwrap();
        assert_eq!((place.host.as_str(), place.port, place.prefix.as_str()), ("gpu-0", 8_000, "/llama"));
        for refused in ["https://gpu-0/v1", "gpu-0:8000", ""] {
            assert!(Place::parse(refused).is_err(), "{refused}");
        }
    }
}
