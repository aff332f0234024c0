//! The roles of the benchmarks' other processes.

mod account;
mod client;
mod engine;
mod file;
mod fill;
mod insert;
mod lease;
mod noop;
mod opening;

use std::io::{self, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use axum::Router;
use axum::serve::ListenerExt;
use futures_util::future::LocalBoxFuture;
use serde::{Deserialize, Serialize};
use tokio::net::TcpListener;

pub(super) use self::account::MadeAccount;
pub(super) use self::client::Drained;
pub(super) use self::fill::Filled;
use self::fill::Filling;
pub(super) use self::fill::Stage;
pub(super) use self::lease::Leased;

/// The role of another process, given as one JSON argument. A server prints its address and serves until it is killed; the others print
/// their result and end.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Peer {
    /// Reads creates and does nothing.
    Noop,
    /// Serves each create by one INSERT.
    Insert {
        /// An empty database.
        database_url: String,
    },
    /// Completes requests without delay.
    Engine,
    File {
        /// The file to serve.
        path: PathBuf,
    },
    /// Sends completions to an engine through a bare pooled client.
    Client {
        engine: SocketAddr,
        requests: usize,
        /// Concurrent requests.
        in_flight: usize,
    },
    /// Creates a second account in a service's store.
    Account {
        /// The service's settings.
        config: PathBuf,
    },
    Fill {
        config: PathBuf,
        requests: usize,
        stage: Stage,
        /// The webhook of each request.
        webhook: Option<String>,
        /// Whether they form one batch.
        is_batch: bool,
        /// How long ago it all was.
        age_ms: i64,
    },
    /// Leases from a service's filled store.
    Lease {
        /// The service's settings.
        config: PathBuf,
        leases: usize,
    },
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Listening {
    pub(super) listening: SocketAddr,
}

pub fn run(peer: Peer) -> LocalBoxFuture<'static, io::Result<()>> {
    Box::pin(play(peer))
}

async fn play(peer: Peer) -> io::Result<()> {
    match peer {
        Peer::Noop => noop::serve(listen().await?).await,
        Peer::Insert { database_url } => insert::serve(listen().await?, &database_url).await,
        Peer::Engine => engine::serve(listen().await?).await,
        Peer::File { path } => file::serve(listen().await?, path).await,
        Peer::Client { engine, requests, in_flight } => say(&client::run(engine, requests, in_flight).await?),
        Peer::Account { config } => say(&account::run(config).await?),
        Peer::Fill { config, requests, stage, webhook, is_batch, age_ms } => {
            say(&fill::run(config, Filling { requests, stage, webhook, is_batch, age_ms }).await?)
        }
        Peer::Lease { config, leases } => say(&lease::run(config, leases).await?),
    }
}

async fn listen() -> io::Result<TcpListener> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    say(&Listening { listening: listener.local_addr()? })?;
    Ok(listener)
}

/// Serves like `axum::serve`, with `TCP_NODELAY`.
async fn serve(listener: TcpListener, router: Router) -> io::Result<()> {
    let listener = listener.tap_io(|stream| {
        // A failure only increases latency.
        let _ = stream.set_nodelay(true);
    });
    axum::serve(listener, router).await
}

fn say(line: &impl Serialize) -> io::Result<()> {
    let mut out = io::stdout().lock();
    serde_json::to_writer(&mut out, line)?;
    writeln!(out)?;
    out.flush()
}
