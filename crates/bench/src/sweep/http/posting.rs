//! Creates over the API.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use bytes::Bytes;
use tokio::task::JoinSet;

use crate::download::Connection;
use crate::service::Service;
use crate::sweep::workload::Request;

/// Concurrent calls.
const CONNECTIONS: usize = 32;

/// Creates the requests, each with the key of its account.
pub(super) async fn post(
    service: &Service,
    keys: &BTreeMap<i64, String>,
    requests: &[Request],
) -> io::Result<()> {
    for (account, key) in keys {
        let of_account = requests.iter().filter(|request| request.account == *account);
        let bodies: Arc<[Bytes]> = of_account.map(|request| create_body(&request.body)).collect();
        let next = Arc::new(AtomicUsize::new(0));
        let mut calls = JoinSet::new();
        for _ in 0..CONNECTIONS {
            let mut connection = Connection::open(service.address, key).await?;
            let (bodies, next) = (Arc::clone(&bodies), Arc::clone(&next));
            calls.spawn(async move {
                while let Some(body) = bodies.get(next.fetch_add(1, Relaxed)) {
                    connection.post("/v1/requests", body.clone()).await?;
                }
                Ok::<_, io::Error>(())
            });
        }
        while let Some(ended) = calls.join_next().await {
            ended??;
        }
    }
    Ok(())
}

fn create_body(body: &[u8]) -> Bytes {
    [br#"{"request_body":"#, body, b"}"].concat().into()
}
