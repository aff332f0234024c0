//! A minimal client: begins a session and runs statements without parameters.

use std::io::{self, BufReader, Read, Write};

use super::USER;
use super::frames::{COMPLETE, ERROR, Header, QUERY, READY};

/// Version 3.0, as in the first packet.
const PROTOCOL: u32 = 3 << 16;
/// Far more than a server's answer without rows.
const BODY_BYTES_MAX: u32 = 1 << 20;

pub(super) struct Session<S> {
    pub(super) stream: BufReader<S>,
}

impl<S: Read + Write> Session<S> {
    pub(super) fn begin(stream: S, database: &str) -> io::Result<Self> {
        let mut packet = PROTOCOL.to_be_bytes().to_vec();
        for text in ["user", USER, "database", database, ""] {
            packet.extend_from_slice(text.as_bytes());
            packet.push(0);
        }
        let mut session = Self { stream: BufReader::new(stream) };
        session.send(None, &packet)?;
        session.answer()?;
        Ok(session)
    }

    /// Runs statements and returns the tag of the last one, which contains its kind and number of rows.
    pub(super) fn run(&mut self, statements: &str) -> io::Result<String> {
        self.ask(statements)?;
        self.answer()
    }

    pub(super) fn ask(&mut self, statements: &str) -> io::Result<()> {
        self.send(Some(QUERY), format!("{statements}\0").as_bytes())
    }

    /// Waits for the answer to the first message.
    pub(super) fn answer(&mut self) -> io::Result<String> {
        let (mut tag, mut refusal) = (String::new(), None);
        loop {
            let (kind, body) = match self.receive() {
                Ok(frame) => frame,
                // Before it ends a session, a server sends the reason.
                Err(error) => return Err(refusal.unwrap_or(error)),
            };
            match kind {
                COMPLETE => tag = text(&body),
                ERROR => refusal = Some(io::Error::other(reason(&body))),
                READY => return refusal.map_or(Ok(tag), Err),
                _ => {}
            }
        }
    }

    fn send(&mut self, kind: Option<u8>, body: &[u8]) -> io::Result<()> {
        let body_bytes = u32::try_from(body.len()).map_err(io::Error::other)?;
        let header = Header { kind: kind.unwrap_or_default(), body_bytes }.encode();
        // The first packet has no kind.
        let header = if kind.is_some() { &header[..] } else { &header[1..] };
        self.stream.get_mut().write_all(&[header, body].concat())
    }

    fn receive(&mut self) -> io::Result<(u8, Vec<u8>)> {
        let header = Header::read(&mut self.stream)?;
        if header.body_bytes > BODY_BYTES_MAX {
            return Err(io::Error::other("a frame is too long"));
        }
        let mut body = Vec::new();
        (&mut self.stream).take(header.body_bytes.into()).read_to_end(&mut body)?;
        Ok((header.kind, body))
    }
}

/// The message among the fields of an error: each is a letter and a text that ends with a zero.
fn reason(body: &[u8]) -> String {
    let message = body.split(|byte| *byte == 0).find_map(|field| field.strip_prefix(b"M"));
    text(message.unwrap_or_default())
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes.strip_suffix(&[0]).unwrap_or(bytes)).into_owned()
}
