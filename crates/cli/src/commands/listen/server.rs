//! The connections: a limited number, each with limits on time and size.

use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

use super::receiver::Receiver;
use crate::errors::CliError;
use crate::interrupt::Interrupt;
use crate::times;

const CONNECTIONS_MAX: usize = 64;
const HEADERS_MAX: usize = 64;
const HEADER_BYTES_MAX: usize = 16 << 10;
const HEADER_TIMEOUT: Duration = Duration::from_secs(30);
/// The pause after a failed accept (too many open files).
const ACCEPT_PAUSE_MS: i64 = 100;
/// The time limit at a stop for calls in progress. The service sends them again.
const STOP_MS: i64 = 2_000;

/// Receives until the user stops it, or output fails.
pub(super) async fn serve(
    listener: TcpListener,
    receiver: Arc<Receiver>,
    interrupt: &Interrupt,
    mut cannot_print: mpsc::Receiver<CliError>,
) -> Result<(), CliError> {
    let slots = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let connections = GracefulShutdown::new();
    loop {
        tokio::select! {
            () = interrupt.raised() => break,
            Some(error) = cannot_print.recv() => return Err(error),
            accepted = accept(&listener, &slots) => match accepted {
                Ok((stream, slot)) => begin(stream, slot, &receiver, &connections),
                Err(_) => times::pause(ACCEPT_PAUSE_MS).await,
            },
        }
    }
    drop(listener);
    tokio::select! {
        () = connections.shutdown() => {}
        () = times::pause(STOP_MS) => {}
    }
    Ok(())
}

/// Accepts the next connection when a slot is free; others wait in the kernel.
async fn accept(
    listener: &TcpListener,
    slots: &Arc<Semaphore>,
) -> io::Result<(TcpStream, OwnedSemaphorePermit)> {
    let slot = Arc::clone(slots).acquire_owned().await.map_err(io::Error::other)?;
    Ok((listener.accept().await?.0, slot))
}

fn begin(
    stream: TcpStream,
    slot: OwnedSemaphorePermit,
    receiver: &Arc<Receiver>,
    connections: &GracefulShutdown,
) {
    let receiver = Arc::clone(receiver);
    let service = service_fn(move |request| {
        let receiver = Arc::clone(&receiver);
        async move { Ok::<_, Infallible>(receiver.receive(request).await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIMEOUT)
        .max_headers(HEADERS_MAX)
        .max_buf_size(HEADER_BYTES_MAX)
        .serve_connection(TokioIo::new(stream), service);
    let connection = connections.watch(connection);
    tokio::spawn(async move {
        // A broken connection is caused by the caller, so it is not reported.
        let _ = connection.await;
        drop(slot);
    });
}
