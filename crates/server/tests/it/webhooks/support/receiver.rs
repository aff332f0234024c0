use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

/// What follows an answer.
#[derive(Debug, Clone, Copy)]
pub(in super::super) enum Then {
    Close,
    /// Nothing, until the other side closes the connection.
    Hold,
    /// The same bytes repeatedly, until the other side closes the connection.
    Repeat(&'static [u8]),
}

#[derive(Debug, Clone)]
pub(in super::super) struct Call {
    pub(in super::super) from: SocketAddr,
    pub(in super::super) request: String,
    /// With TLS: the requested name and the negotiated protocol.
    pub(in super::super) server_name: Option<String>,
    pub(in super::super) protocol: Option<Vec<u8>>,
}

/// Gives every caller the same answer.
pub(in super::super) struct Receiver {
    pub(in super::super) address: SocketAddr,
    calls: Arc<Mutex<Vec<Call>>>,
    written: watch::Receiver<usize>,
    closed: watch::Receiver<usize>,
    task: JoinHandle<()>,
}

#[derive(Clone)]
struct Script {
    answer: Vec<u8>,
    then: Then,
    calls: Arc<Mutex<Vec<Call>>>,
    written: watch::Sender<usize>,
    closed: watch::Sender<usize>,
}

impl Receiver {
    /// Listens at an address of this machine; port 0 means any.
    pub(in super::super) async fn start(address: &str, answer: impl Into<Vec<u8>>, then: Then) -> Self {
        Self::serve(address, None, answer.into(), then).await
    }

    pub(in super::super) async fn start_tls(address: &str, tls: TlsAcceptor) -> Self {
        Self::serve(address, Some(tls), OK.into(), Then::Close).await
    }

    /// Answers with a success.
    pub(in super::super) async fn well(address: &str) -> Self {
        Self::start(address, OK, Then::Close).await
    }

    async fn serve(address: &str, tls: Option<TlsAcceptor>, answer: Vec<u8>, then: Then) -> Self {
        let listener = TcpListener::bind(address).await.unwrap();
        let address = listener.local_addr().unwrap();
        let calls = Arc::default();
        let (write, written) = watch::channel(0);
        let (close, closed) = watch::channel(0);
        let script = Script { answer, then, calls: Arc::clone(&calls), written: write, closed: close };
        let task = tokio::spawn(async move {
            loop {
                let (stream, from) = listener.accept().await.unwrap();
                tokio::spawn(script.clone().accept(stream, from, tls.clone()));
            }
        });
        Self { address, calls, written, closed, task }
    }

    pub(in super::super) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(in super::super) fn calls(&self) -> Vec<Call> {
        self.calls.lock().unwrap().clone()
    }

    /// Returns the caller's address once it has written this many bytes.
    pub(in super::super) async fn has_written(&self, bytes: usize) -> SocketAddr {
        let mut written = self.written.clone();
        written.wait_for(|written| *written >= bytes && !self.calls().is_empty()).await.unwrap();
        self.calls()[0].from
    }

    /// Returns once the other side has closed a connection.
    pub(in super::super) async fn is_hung_up(&self) {
        self.closed.clone().wait_for(|closed| *closed > 0).await.unwrap();
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.task.abort();
    }
}

pub(in super::super) const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

impl Script {
    async fn accept(self, stream: TcpStream, from: SocketAddr, tls: Option<TlsAcceptor>) {
        let mut call = Call { from, request: String::new(), server_name: None, protocol: None };
        let Some(tls) = tls else { return self.answer(stream, call).await };
        // A client that does not trust the certificate disconnects.
        let Ok(stream) = tls.accept(stream).await else { return };
        let session = stream.get_ref().1;
        call.server_name = session.server_name().map(str::to_owned);
        call.protocol = session.alpn_protocol().map(<[u8]>::to_vec);
        self.answer(stream, call).await;
    }

    async fn answer(self, mut stream: impl AsyncRead + AsyncWrite + Unpin, mut call: Call) {
        call.request = read_request(&mut stream).await;
        self.calls.lock().unwrap().push(call);
        self.write(&mut stream, &self.answer).await;
        match self.then {
            Then::Close => _ = stream.shutdown().await,
            Then::Hold => {}
            Then::Repeat(bytes) => while self.write(&mut stream, bytes).await {},
        }
        while stream.read(&mut [0; 1_024]).await.is_ok_and(|count| count > 0) {}
        self.closed.send_modify(|closed| *closed += 1);
    }

    /// False once the client is gone.
    async fn write(&self, stream: &mut (impl AsyncWrite + Unpin), bytes: &[u8]) -> bool {
        let is_written = stream.write_all(bytes).await.is_ok() && stream.flush().await.is_ok();
        self.written.send_modify(|written| *written += bytes.len());
        // Other tasks of this thread get a turn, however fast this loop is.
        tokio::task::yield_now().await;
        is_written
    }
}

/// The head, and the body that it announces.
async fn read_request(stream: &mut (impl AsyncRead + Unpin)) -> String {
    let mut request = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&request);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            if body.len() >= length.map_or(0, |length| length.parse().unwrap()) {
                return text.into_owned();
            }
        }
        if stream.read_buf(&mut request).await.map_or(0, |count| count) == 0 {
            return String::from_utf8_lossy(&request).into_owned();
        }
    }
}
