//! A connection's socket, which breaks when the client takes nothing that is to be written.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as Task, Poll};
use std::time::Duration;

use overnight_base::clock::SharedClock;
use socket2::{SockRef, TcpKeepalive};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use super::stalls::StallTimer;
use crate::http::activity::Activity;
use crate::http::counters;

/// The kernel takes so many bytes ahead of what was sent. It keeps them for a client that does not read, and takes more only when
/// half of them were sent: a slow client is seen to read in pieces of this length.
#[cfg(target_os = "linux")]
const UNSENT_BYTES_MAX: u32 = 32 << 10;

/// A peer of whom nothing was heard for so long is asked whether it is there, as long as it does not answer once more each interval. Calls
/// that follow a batch or wait for a request may be sent nothing for hours, and a machine that is gone would keep its connection.
const KEEP_ALIVE: TcpKeepalive =
    TcpKeepalive::new().with_time(Duration::from_secs(60)).with_interval(Duration::from_secs(15));

/// A connection's socket.
pub(in crate::http) struct Socket {
    stream: TcpStream,
    timer: StallTimer,
    written: u64,
    activity: Arc<Activity>,
}

impl Socket {
    /// The socket breaks when the client takes nothing for `stalled`.
    pub(in crate::http) fn new(
        stream: TcpStream,
        clock: &SharedClock,
        stalled: Duration,
        activity: Arc<Activity>,
    ) -> Self {
        // Without them only latency and memory are worse.
        let _ = stream.set_nodelay(true);
        let _ = SockRef::from(&stream).set_tcp_keepalive(&KEEP_ALIVE);
        #[cfg(target_os = "linux")]
        let _ = SockRef::from(&stream).set_tcp_notsent_lowat(UNSENT_BYTES_MAX);
        Self { stream, timer: StallTimer::new(clock, stalled), written: 0, activity }
    }

    fn wrote(&mut self, task: &mut Task<'_>, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if let Poll::Ready(written) = written {
            self.timer.rest();
            self.written += written.as_ref().map_or(0, |bytes| *bytes as u64);
            self.activity.set_blocked(false);
            return Poll::Ready(written);
        }
        self.activity.set_blocked(true);
        self.timer.poll(task, self.written).map(|()| {
            counters::count_stalled("connection");
            // What the client did not take is dropped; otherwise the kernel would keep it.
            let _ = SockRef::from(&self.stream).set_linger(Some(Duration::ZERO));
            Err(io::Error::new(io::ErrorKind::TimedOut, "the client took nothing for too long"))
        })
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        task: &mut Task<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(task, into)
    }
}

impl AsyncWrite for Socket {
    fn poll_write(mut self: Pin<&mut Self>, task: &mut Task<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(task, bytes);
        self.wrote(task, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        task: &mut Task<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(task, pieces);
        self.wrote(task, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, task: &mut Task<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(task)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, task: &mut Task<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(task)
    }
}

#[cfg(test)]
mod tests {
    use overnight_base::clock::ManualClock;
    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn a_peer_that_is_silent_is_asked_whether_it_is_there() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let _client =
            TcpStream::connect(listener.local_addr().expect("an address")).await.expect("a connection");
        let (stream, _) = listener.accept().await.expect("a connection");
        let clock: SharedClock = ManualClock::at(0);
        let socket = Socket::new(stream, &clock, Duration::from_secs(1), Activity::new(&clock));
        assert!(SockRef::from(&socket.stream).keepalive().expect("an option"));
    }
}
