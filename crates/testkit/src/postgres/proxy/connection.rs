//! One connection through the proxy: the client's messages in one direction, the server's answers in the other.

use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use super::super::frames::{Header, QUERY, READY, is_commit};
use super::negotiation::{Negotiated, negotiate};
use super::orders::{Fate, Orders};

/// Longer than any commit, including blanks.
const COMMIT_BYTES_MAX: u32 = 64;

#[derive(Debug)]
pub(super) struct Connection {
    client: TcpStream,
    server: UnixStream,
    exchange: Mutex<Exchange>,
}

/// Progress of both sides. The server answers in order, so counts match answers to messages.
#[derive(Debug)]
struct Exchange {
    asked: u64,
    answered: u64,
    /// The answer to drop, counted from 1.
    unwanted: Option<u64>,
}

impl Connection {
    pub(super) fn new(client: TcpStream, server: UnixStream) -> Self {
        // The beginning of the session is answered like a message.
        let exchange = Exchange { asked: 1, answered: 0, unwanted: None };
        Self { client, server, exchange: Mutex::new(exchange) }
    }

    /// Closes both sides, without waiting for data in transit.
    pub(super) fn close(&self) {
        let _ = self.client.shutdown(Shutdown::Both);
        let _ = self.server.shutdown(Shutdown::Both);
    }

    /// Forwards in both directions, as ordered, until one side closes; then closes both.
    pub(super) fn serve(&self, orders: &Orders) {
        let (mut client, mut server) = (BufReader::new(&self.client), BufReader::new(&self.server));
        // The other side learns only that this one has ended.
        match negotiate(&mut client, &self.client, &mut server, &self.server) {
            Ok(Negotiated::Session) => thread::scope(|scope| {
                scope.spawn(|| {
                    let _ = self.carry_answers(server, orders);
                    self.close();
                });
                let _ = self.carry_questions(client, orders);
                self.close();
            }),
            Ok(Negotiated::Cancel) => drop(io::copy(&mut server, &mut &self.client)),
            Err(_) => {}
        }
        self.close();
    }

    /// From the client to the server, until a commit is cut.
    fn carry_questions(&self, mut client: BufReader<&TcpStream>, orders: &Orders) -> io::Result<()> {
        let mut server = BufWriter::new(&self.server);
        loop {
            let header = Header::read(&mut client)?;
            if header.asks() {
                self.exchange().asked += 1;
            }
            if header.kind == QUERY && header.body_bytes <= COMMIT_BYTES_MAX {
                let mut body = Vec::new();
                copy(header.body_bytes, &mut client, &mut body)?;
                let fate = if is_commit(&body) { orders.fate_of_commit() } else { Fate::Passes };
                match fate {
                    Fate::Passes => {}
                    Fate::LosesItsAnswer => self.reject_next_answer(),
                    Fate::IsCut => {
                        orders.count(fate);
                        return Ok(());
                    }
                }
                server.write_all(&header.encode())?;
                server.write_all(&body)?;
            } else {
                server.write_all(&header.encode())?;
                copy(header.body_bytes, &mut client, &mut server)?;
            }
            if client.buffer().is_empty() {
                server.flush()?;
            }
        }
    }

    /// From the server to the client, until an answer is dropped.
    fn carry_answers(&self, mut server: BufReader<&UnixStream>, orders: &Orders) -> io::Result<()> {
        let mut client = BufWriter::new(&self.client);
        loop {
            let header = Header::read(&mut server)?;
            let is_unwanted = self.exchange().next_is_unwanted();
            if is_unwanted {
                copy(header.body_bytes, &mut server, &mut io::sink())?;
            } else {
                client.write_all(&header.encode())?;
                copy(header.body_bytes, &mut server, &mut client)?;
            }
            if server.buffer().is_empty() || is_unwanted {
                client.flush()?;
            }
            if header.kind == READY {
                if is_unwanted {
                    orders.count(Fate::LosesItsAnswer);
                    return Ok(());
                }
                self.exchange().answered += 1;
            }
        }
    }

    /// Marks the answer to the last message for dropping.
    fn reject_next_answer(&self) {
        let mut exchange = self.exchange();
        exchange.unwanted = Some(exchange.asked);
    }

    fn exchange(&self) -> MutexGuard<'_, Exchange> {
        self.exchange.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Exchange {
    fn next_is_unwanted(&self) -> bool {
        self.unwanted == Some(self.answered + 1)
    }
}

/// Copies exactly this number of bytes; fewer are an error.
fn copy(bytes: u32, from: &mut impl BufRead, to: &mut impl Write) -> io::Result<()> {
    let copied = io::copy(&mut from.take(bytes.into()), to)?;
    if copied == u64::from(bytes) { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}
