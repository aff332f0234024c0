//! Bodies that were compressed without being asked for.

use std::io::Read;

use bytes::Bytes;
use flate2::read::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};
use hyper::HeaderMap;
use hyper::header::CONTENT_ENCODING;

const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

#[derive(Debug, PartialEq, Eq)]
pub enum Undecoded {
    TooLong,
    /// Incomplete or damaged; the intact beginning.
    Damaged(Bytes),
    Unknown(String),
}

/// Decompresses a body to at most `bytes_max` bytes. Gateways send compressed bodies without a header, and plain bodies with one, so the
/// first bytes of the body overrule its header.
pub fn decode(headers: &HeaderMap, body: Bytes, bytes_max: usize) -> Result<Bytes, Undecoded> {
    if body.starts_with(&GZIP_MAGIC) {
        return inflate(MultiGzDecoder::new(&*body), bytes_max);
    }
    let encoding = headers.get(CONTENT_ENCODING).and_then(|value| value.to_str().ok());
    let encoding = encoding.unwrap_or_default().trim().to_ascii_lowercase();
    match &*encoding {
        "" | "identity" | "gzip" | "x-gzip" => Ok(body),
        _ if is_plain(&body) => Ok(body),
        "deflate" if is_zlib(&body) => inflate(ZlibDecoder::new(&*body), bytes_max),
        "deflate" => inflate(DeflateDecoder::new(&*body), bytes_max),
        _ => Err(Undecoded::Unknown(encoding)),
    }
}

/// Whether a body begins as JSON or HTML does.
fn is_plain(body: &[u8]) -> bool {
    matches!(body.trim_ascii_start().first(), None | Some(b'{' | b'[' | b'<'))
}

/// Whether a body has a zlib header, which most senders of `deflate` add.
fn is_zlib(body: &[u8]) -> bool {
    let Some(&[first, second]) = body.first_chunk() else { return false };
    first & 0x0f == 8 && u16::from_be_bytes([first, second]).is_multiple_of(31)
}

fn inflate(decoder: impl Read, bytes_max: usize) -> Result<Bytes, Undecoded> {
    let mut decoded = Vec::new();
    let read = decoder.take(bytes_max as u64 + 1).read_to_end(&mut decoded);
    if decoded.len() > bytes_max {
        return Err(Undecoded::TooLong);
    }
    match read {
        Ok(_) => Ok(decoded.into()),
        Err(_) => Err(Undecoded::Damaged(decoded.into())),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};

    use super::*;

    const TEXT: &[u8] = br#"{"object":"chat.completion"}"#;

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(text).expect("memory");
        encoder.finish().expect("memory")
    }

    fn zlib() -> Vec<u8> {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(TEXT).expect("memory");
        encoder.finish().expect("memory")
    }

    fn raw_deflate() -> Vec<u8> {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(TEXT).expect("memory");
        encoder.finish().expect("memory")
    }

    fn decoded(encoding: &str, body: &[u8]) -> Result<Bytes, Undecoded> {
        let mut headers = HeaderMap::new();
        if !encoding.is_empty() {
            headers.insert(CONTENT_ENCODING, encoding.parse().expect("a header"));
        }
        decode(&headers, Bytes::copy_from_slice(body), 100)
    }

    #[test]
    fn a_body_is_decoded_by_its_header_or_its_first_bytes() {
        for (encoding, body) in [
            ("", TEXT.to_vec()),
            ("", gzip(TEXT)),
            ("gzip", gzip(TEXT)),
            ("X-GZIP", gzip(TEXT)),
            ("deflate", zlib()),
            ("deflate", raw_deflate()),
            ("deflate", TEXT.to_vec()),
            ("gzip", TEXT.to_vec()),
            ("br", TEXT.to_vec()),
            ("identity", TEXT.to_vec()),
        ] {
            assert_eq!(decoded(encoding, &body).as_deref(), Ok(TEXT), "{encoding}");
        }
    }

    #[test]
    fn a_body_that_cannot_be_decoded_is_told_apart_from_one_that_is_too_long() {
        let cut = gzip(TEXT);
        let cut = &cut[..cut.len() - 9];
        assert!(matches!(decoded("gzip", cut), Err(Undecoded::Damaged(start)) if TEXT.starts_with(&start)));
        assert_eq!(decoded("", &gzip(&[b'a'; 101])), Err(Undecoded::TooLong));
        assert_eq!(decoded("", &gzip(&vec![0; 10 << 20])), Err(Undecoded::TooLong));
        assert_eq!(decoded("br", b"\x0b\x0e\x80"), Err(Undecoded::Unknown("br".to_owned())));
    }
}
