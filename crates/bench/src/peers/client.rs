//! The reference of dispatch: a bare pooled client, which stores nothing and forgets every answer.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use bytes::Bytes;
use hyper::Uri;
use serde::{Deserialize, Serialize};
use tokio::task::JoinSet;

use crate::clock;
use crate::pool::Pool;
use crate::process;
use crate::workload::CreateBody;

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Drained {
    pub(crate) seconds: f64,
    pub(crate) cpu_seconds: f64,
}

pub(super) async fn run(engine: SocketAddr, requests: usize, in_flight: usize) -> io::Result<Drained> {
    let pool = Pool::new();
    let uri: Uri = format!("http://{engine}/v1/chat/completions").parse().map_err(io::Error::other)?;
    let next = Arc::new(AtomicUsize::new(0));
    let (began_at, cpu) = (clock::now(), process::cpu_time(std::process::id())?);
    let mut workers = JoinSet::new();
    for _ in 0..in_flight {
        workers.spawn(work(pool.clone(), uri.clone(), Arc::clone(&next), requests));
    }
    while let Some(ended) = workers.join_next().await {
        ended??;
    }
    let cpu_time = process::cpu_time(std::process::id())?.saturating_sub(cpu);
    Ok(Drained { seconds: began_at.elapsed().as_secs_f64(), cpu_seconds: cpu_time.as_secs_f64() })
}

async fn work(pool: Pool, uri: Uri, next: Arc<AtomicUsize>, requests: usize) -> io::Result<()> {
    let mut body = CreateBody::new();
    loop {
        let number = next.fetch_add(1, Relaxed);
        if number >= requests {
            return Ok(());
        }
        pool.post(uri.clone(), Bytes::copy_from_slice(body.chat(number))).await?;
    }
}
