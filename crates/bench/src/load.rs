//! Creates over keep-alive connections with little overhead: the text of a call is built once, and only the status and length of the answer
//! are read.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use super::clock;
use super::workload::CreateBody;

const ANSWER_BYTES: usize = 8 << 10;

/// Sends `count` creates over `connections`, one at a time on each; returns the duration.
pub(super) async fn create(
    address: SocketAddr,
    key: &str,
    connections: usize,
    count: usize,
) -> io::Result<Duration> {
    let mut open = Vec::with_capacity(connections);
    for _ in 0..connections {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        open.push(Client::new(stream, key));
    }
    let next = Arc::new(AtomicUsize::new(0));
    let began_at = clock::now();
    let mut clients = JoinSet::new();
    for client in open {
        clients.spawn(client.run(Arc::clone(&next), count));
    }
    while let Some(ended) = clients.join_next().await {
        ended??;
    }
    Ok(began_at.elapsed())
}

struct Client {
    stream: TcpStream,
    body: CreateBody,
    call: Vec<u8>,
    head_bytes: usize,
    answer: Vec<u8>,
}

impl Client {
    fn new(stream: TcpStream, key: &str) -> Self {
        let mut body = CreateBody::new();
        let text = body.numbered(0);
        let head = format!(
            "POST /v1/requests HTTP/1.1\r\nHost: localhost\r\nX-API-Key: {key}\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\n\r\n",
            text.len()
        );
        let call = [head.as_bytes(), text].concat();
        Self { stream, body, call, head_bytes: head.len(), answer: Vec::with_capacity(ANSWER_BYTES) }
    }

    async fn run(mut self, next: Arc<AtomicUsize>, count: usize) -> io::Result<()> {
        loop {
            let number = next.fetch_add(1, Relaxed);
            if number >= count {
                return Ok(());
            }
            self.call[self.head_bytes..].copy_from_slice(self.body.numbered(number));
            self.stream.write_all(&self.call).await?;
            self.read_answer().await?;
        }
    }

    async fn read_answer(&mut self) -> io::Result<()> {
        self.answer.clear();
        loop {
            if self.stream.read_buf(&mut self.answer).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let Some(length) = answer_length(&self.answer)? else { continue };
            if self.answer.len() >= length {
                return Ok(());
            }
        }
    }
}

/// The length of the whole answer; `None` until its head is complete.
fn answer_length(answer: &[u8]) -> io::Result<Option<usize>> {
    let Some(head_bytes) = answer.windows(4).position(|window| window == b"\r\n\r\n") else {
        return Ok(None);
    };
    let head = std::str::from_utf8(&answer[..head_bytes]).map_err(io::Error::other)?;
    if !head.starts_with("HTTP/1.1 2") {
        return Err(io::Error::other(format!("a create was answered {}", String::from_utf8_lossy(answer))));
    }
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
    });
    let length = length.ok_or_else(|| io::Error::other("an answer without a length"))?;
    Ok(Some(head_bytes + 4 + length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_as_long_as_its_head_says() {
        let answer = b"HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\n[]";
        assert_eq!(answer_length(answer).unwrap(), Some(answer.len()));
        assert_eq!(answer_length(&answer[..30]).unwrap(), None);
        assert!(answer_length(b"HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n").is_err());
    }
}
