//! The client's packets before the frames begin: they have no kind, and the last one begins the session.

use std::io::{self, Read, Write};

use super::super::frames::LENGTH_BYTES;

const PACKET_BYTES_MAX: u32 = 10_000;
/// Codes in the place of the protocol version.
const CANCEL: u32 = (1_234 << 16) | 5_678;
const ENCRYPT_WITH_TLS: u32 = (1_234 << 16) | 5_679;
const ENCRYPT_WITH_GSSAPI: u32 = (1_234 << 16) | 5_680;
const REFUSED: u8 = b'N';

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Negotiated {
    /// A session begins: from here both sides send frames.
    Session,
    /// Cancels a query of another session; the server closes without an answer.
    Cancel,
}

/// Forwards packets to the server, and its answers of one byte back, until the frames begin.
pub(super) fn negotiate(
    client: &mut (impl Read + ?Sized),
    mut to_client: impl Write,
    server: &mut (impl Read + ?Sized),
    mut to_server: impl Write,
) -> io::Result<Negotiated> {
    loop {
        let (code, packet) = read_packet(client)?;
        to_server.write_all(&packet)?;
        match code {
            ENCRYPT_WITH_TLS | ENCRYPT_WITH_GSSAPI => {
                let mut answer = [0];
                server.read_exact(&mut answer)?;
                if answer != [REFUSED] {
                    return Err(io::Error::other("a session that is encrypted cannot be followed"));
                }
                to_client.write_all(&answer)?;
            }
            CANCEL => return Ok(Negotiated::Cancel),
            _ => return Ok(Negotiated::Session),
        }
    }
}

fn read_packet(client: &mut (impl Read + ?Sized)) -> io::Result<(u32, Vec<u8>)> {
    let (mut length, mut code) = ([0; 4], [0; 4]);
    client.read_exact(&mut length)?;
    client.read_exact(&mut code)?;
    let bytes = u32::from_be_bytes(length);
    if !(2 * LENGTH_BYTES..=PACKET_BYTES_MAX).contains(&bytes) {
        return Err(io::Error::other("a first packet of an impossible length"));
    }
    let mut packet = [length, code].concat();
    client.take((bytes - 2 * LENGTH_BYTES).into()).read_to_end(&mut packet)?;
    Ok((u32::from_be_bytes(code), packet))
}
