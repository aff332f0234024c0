//! A connection's socket, which fails if the client accepts no bytes, or sends many that belong to no call.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as Task, Poll, ready};
use std::time::Duration;

use overnight_base::clock::{SharedClock, Sleep};
use socket2::{SockRef, TcpKeepalive};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use super::stalls::StallTimer;
use crate::activity::Activity;
use crate::context::after;
use crate::counters;

/// The kernel's buffer of unsent bytes. It accepts more only when half of them were sent, so a slow client is seen to read in pieces of
/// this length.
#[cfg(target_os = "linux")]
const UNSENT_BYTES_MAX: u32 = 32 << 10;

/// A silent peer is probed after this time, and then each interval until it answers. Calls that follow a batch or wait for a request may be
/// silent for hours, and a lost machine would keep its connection.
const KEEP_ALIVE: TcpKeepalive =
    TcpKeepalive::new().with_time(Duration::from_secs(60)).with_interval(Duration::from_secs(15));

/// The bytes that may arrive without a new call or a part of a body: those in the window of HTTP/2, and frames about the connection.
const WITHOUT_CALL_MAX: usize = 2 << 20;
/// Bytes sent for each byte that may arrive in addition: a client acknowledges long responses, and a ping is answered by as many bytes.
const SENT_PER_RECEIVED: usize = 4;
/// After this many bytes other connections have their turn, because a library that reads frames stops only when no more have arrived.
const TURN_BYTES: usize = 16 << 10;
/// After this many bytes without a call or a part of a body, one turn is read in each `PAUSE`: a frame about the connection costs more to read
/// than to send.
const UNPAUSED_BYTES: usize = 64 << 10;
const PAUSE: Duration = Duration::from_millis(100);

pub(crate) struct Socket {
    stream: TcpStream,
    received: ReceivedBudget,
    clock: SharedClock,
    pause: Option<Sleep>,
    timer: StallTimer,
    written: u64,
    activity: Arc<Activity>,
}

impl Socket {
    /// The socket fails when the client accepts no bytes for `stalled`.
    pub(crate) fn new(
        stream: TcpStream,
        clock: &SharedClock,
        stalled: Duration,
        activity: Arc<Activity>,
    ) -> Self {
        // Without these options only latency and memory are worse.
        let _ = stream.set_nodelay(true);
        let _ = SockRef::from(&stream).set_tcp_keepalive(&KEEP_ALIVE);
        #[cfg(target_os = "linux")]
        let _ = SockRef::from(&stream).set_tcp_notsent_lowat(UNSENT_BYTES_MAX);
        let received = ReceivedBudget { left: WITHOUT_CALL_MAX, progress: 0, in_turn: 0 };
        Self {
            stream,
            received,
            clock: Arc::clone(clock),
            pause: None,
            timer: StallTimer::new(clock, stalled),
            written: 0,
            activity,
        }
    }

    /// Ready when the next bytes may be read.
    fn poll_turn(&mut self, task: &mut Task<'_>) -> Poll<()> {
        if self.received.in_turn < TURN_BYTES {
            return Poll::Ready(());
        }
        if self.pause.is_none() && !self.received.is_paused(self.activity.progress()) {
            self.received.in_turn = 0;
            task.waker().wake_by_ref();
            return Poll::Pending;
        }
        let pause = self.pause.get_or_insert_with(|| self.clock.sleep_until(after(self.clock.now(), PAUSE)));
        self.activity.wake_on_progress(task.waker());
        if self.received.is_paused(self.activity.progress()) {
            ready!(pause.as_mut().poll(task));
        }
        self.pause = None;
        self.received.in_turn = 0;
        Poll::Ready(())
    }

    fn wrote(&mut self, task: &mut Task<'_>, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if let Poll::Ready(written) = written {
            self.timer.rest();
            let bytes = *written.as_ref().unwrap_or(&0);
            self.written += bytes as u64;
            self.received.add(bytes / SENT_PER_RECEIVED);
            self.activity.set_blocked(false);
            return Poll::Ready(written);
        }
        self.activity.set_blocked(true);
        self.timer.poll(task, self.written).map(|()| {
            counters::count_stalled("connection");
            // Unsent bytes are dropped; otherwise the kernel would keep them.
            let _ = SockRef::from(&self.stream).set_linger(Some(Duration::ZERO));
            Err(io::Error::new(io::ErrorKind::TimedOut, "the client took nothing for too long"))
        })
    }
}

/// What a connection may receive until a call or a body proceeds.
struct ReceivedBudget {
    left: usize,
    /// The connection's progress at the last read.
    progress: u64,
    in_turn: usize,
}

impl ReceivedBudget {
    fn add(&mut self, bytes: usize) {
        self.left = WITHOUT_CALL_MAX.min(self.left + bytes);
    }

    /// Whether much arrived without progress.
    fn is_paused(&self, progress: u64) -> bool {
        progress == self.progress && self.left < WITHOUT_CALL_MAX - UNPAUSED_BYTES
    }

    fn take(&mut self, bytes: usize, progress: u64) -> io::Result<()> {
        if progress != self.progress {
            (self.left, self.progress) = (WITHOUT_CALL_MAX, progress);
        }
        self.in_turn += bytes;
        let left = self.left.checked_sub(bytes).ok_or_else(|| {
            counters::count_flooded();
            io::Error::other("the client sent too many bytes without a call")
        })?;
        self.left = left;
        Ok(())
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        task: &mut Task<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        ready!(self.poll_turn(task));
        let before = into.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(task, into))?;
        let (bytes, progress) = (into.filled().len() - before, self.activity.progress());
        Poll::Ready(self.received.take(bytes, progress))
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
    use std::future::{poll_fn, ready};

    use overnight_base::clock::ManualClock;
    use tokio::io::AsyncWriteExt;
    use tokio::net::TcpListener;

    use super::*;

    #[test]
    fn bytes_without_a_call_are_limited_and_calls_bodies_and_responses_are_not() {
        let mut budget = ReceivedBudget { left: WITHOUT_CALL_MAX, progress: 0, in_turn: 0 };
        let piece = WITHOUT_CALL_MAX / 4;
        for progress in 0..100 {
            budget.take(piece, progress).expect("a call began or a body proceeded");
        }
        for _ in 0..100 {
            budget.take(piece, 99).expect("a response proceeded");
            budget.add(piece);
        }
        // Pings, each of which is answered by as many bytes.
        let mut floods = (0..8).map(|_| {
            budget.add(piece / SENT_PER_RECEIVED);
            budget.take(piece, 99)
        });
        let refused = floods.position(|taken| taken.is_err());
        assert_eq!(refused, Some(4), "three pieces were left, and the answers allow a fourth");
    }

    /// What is read until the socket pauses.
    async fn read_until_paused(socket: &mut Socket) -> usize {
        let (mut read, mut piece) = (0, vec![0; TURN_BYTES]);
        loop {
            let bytes = poll_fn(|task| {
                let mut into = ReadBuf::new(&mut piece);
                match Pin::new(&mut *socket).poll_read(task, &mut into) {
                    Poll::Pending if socket.pause.is_some() => Poll::Ready(None),
                    Poll::Pending => Poll::Pending,
                    Poll::Ready(result) => Poll::Ready(Some(result.map(|()| into.filled().len()))),
                }
            });
            match bytes.await {
                None => return read,
                Some(bytes) => read += bytes.expect("bytes that arrived"),
            }
        }
    }

    #[tokio::test]
    async fn bytes_without_a_call_are_read_slowly_until_a_call_or_a_body_proceeds() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let mut client =
            TcpStream::connect(listener.local_addr().expect("an address")).await.expect("a connection");
        let (stream, _) = listener.accept().await.expect("a connection");
        let clock: SharedClock = ManualClock::at(0);
        let activity = Activity::new(&clock);
        let mut socket = Socket::new(stream, &clock, Duration::from_secs(1), Arc::clone(&activity));
        let sent = tokio::spawn(async move { client.write_all(&vec![0; WITHOUT_CALL_MAX]).await });

        let at_once = read_until_paused(&mut socket).await;
        assert!((UNPAUSED_BYTES..=UNPAUSED_BYTES + 2 * TURN_BYTES).contains(&at_once), "{at_once}");
        assert_eq!(read_until_paused(&mut socket).await, 0, "the pause is not over");
        socket.pause = Some(Box::pin(ready(())));
        let turn = read_until_paused(&mut socket).await;
        assert!((TURN_BYTES..2 * TURN_BYTES).contains(&turn), "{turn}");
        activity.proceed();
        assert!(read_until_paused(&mut socket).await >= UNPAUSED_BYTES, "a body proceeded");
        sent.abort();
    }

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
