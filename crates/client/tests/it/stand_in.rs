//! A scripted service: each connection gets the next reply, byte for byte, and is closed.

use std::sync::{Arc, Mutex};

use overnight_client::Client;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

pub(crate) struct StandIn {
    pub(crate) client: Client,
    asked: Arc<Mutex<Vec<String>>>,
}

impl StandIn {
    pub(crate) async fn start(replies: Vec<String>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let asked = Arc::default();
        tokio::spawn(serve(listener, replies, Arc::clone(&asked)));
        let client = Client::new(&format!("http://{address}"), "on_live_key").expect("a client");
        Self { client, asked }
    }

    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().expect("no test panicked").clone()
    }

    /// The first line of each request so far.
    pub(crate) fn calls(&self) -> Vec<String> {
        self.asked().iter().filter_map(|text| text.lines().next().map(str::to_owned)).collect()
    }
}

pub(crate) async fn serve(listener: TcpListener, replies: Vec<String>, asked: Arc<Mutex<Vec<String>>>) {
    for reply in replies {
        let (mut connection, _) = listener.accept().await.expect("a connection");
        let request = read_request(&mut connection).await;
        asked.lock().expect("no test panicked").push(request);
        connection.write_all(reply.as_bytes()).await.expect("the client listens");
        connection.shutdown().await.expect("the client listens");
    }
}

async fn read_request(connection: &mut TcpStream) -> String {
    let mut text = String::new();
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let read = connection.read(&mut buffer).await.expect("a request");
        text.push_str(std::str::from_utf8(&buffer[..read]).expect("text"));
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        if head.contains("transfer-encoding: chunked") {
            if body.ends_with("0\r\n\r\n") {
                return text;
            }
            continue;
        }
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        if body.len() >= length.map_or(0, |length| length.parse().expect("a length")) {
            return text;
        }
    }
}

/// A whole answer. `head` is the end of the status line and further header lines, such as `503 Busy\r retry-after: 0`.
pub(crate) fn reply(head: &str, body: &str) -> String {
    format!("HTTP/1.1 {head}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}", body.len())
}

/// An answer in chunks, which is cut off unless `whole`.
pub(crate) fn stream(chunks: &[&str], whole: bool) -> String {
    let mut text = "HTTP/1.1 200 OK\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n".to_owned();
    for chunk in chunks {
        text.push_str(&format!("{:x}\r\n{chunk}\r\n", chunk.len()));
    }
    text + if whole { "0\r\n\r\n" } else { "" }
}

pub(crate) fn refusal(head: &str, code: &str) -> String {
    let body = format!(
        concat!(
            r#"{{"error":{{"message":"No.","type":"some_error","code":"{}","param":"n","#,
            r#""details":[{{"param":"n","message":"too many","code":"out_of_range"}}],"request_id":"call_1"}}}}"#
        ),
        code
    );
    reply(head, &body)
}
