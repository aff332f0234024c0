//! A plain client: sends the bodies of a fixed order straight to engines.

use std::io;

use bytes::Bytes;
use hyper::Uri;
use tokio::task::JoinSet;

use crate::pool::Pool;
use crate::sweep::fleet::{Dispatcher, Event, Work};
use crate::sweep::orders::FixedOrder;
use crate::sweep::workload::Request;

/// Sends each request when the order requires; returns after the last answer.
pub(in crate::sweep) async fn send(
    mut order: FixedOrder,
    requests: &[Request],
    engines: &[String],
) -> io::Result<()> {
    let uris = engines.iter().map(|base_url| format!("{base_url}/chat/completions").parse());
    let uris: Vec<Uri> = uris.collect::<Result<_, _>>().map_err(io::Error::other)?;
    let pool = Pool::new();
    let mut calls = JoinSet::new();
    let mut event = Event::Start;
    loop {
        // A fixed order does not depend on the time.
        for work in order.on(event, 0) {
            let Work::Send { replica, request } = work else { continue };
            let (pool, uri) = (pool.clone(), uris[replica].clone());
            let body = Bytes::copy_from_slice(&requests[request].body);
            calls.spawn(async move { pool.post(uri, body).await.map(|()| (replica, request)) });
        }
        let Some(ended) = calls.join_next().await else { return Ok(()) };
        let (replica, request) = ended??;
        event = Event::Completed { replica, request };
    }
}
