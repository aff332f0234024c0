//! Compressed streams.

use std::io::{self, BufRead, BufReader, Read, Write};

use flate2::bufread::MultiGzDecoder;
use flate2::write::GzEncoder;

use crate::kinds::Compression;

const BUFFER_BYTES: usize = 256 << 10;

/// The memory limit of a Zstandard file: `zstd --long=27`, the default limit of its own program.
const ZSTD_WINDOW_LOG_MAX: u32 = 27;

pub fn reader(from: impl BufRead + 'static, compression: Compression) -> io::Result<Box<dyn BufRead>> {
    let inner: Box<dyn Read> = match compression {
        Compression::None => return Ok(Box::new(from)),
        Compression::Gzip => Box::new(MultiGzDecoder::new(from)),
        Compression::Zstd => {
            let mut decoder = zstd::stream::read::Decoder::with_buffer(from)?;
            decoder.window_log_max(ZSTD_WINDOW_LOG_MAX)?;
            Box::new(decoder)
        }
    };
    Ok(Box::new(BufReader::with_capacity(BUFFER_BYTES, inner)))
}

/// Appends a line with its end to `text`; returns 0 at the end. Fails if the line has more than `max` bytes.
pub fn read_line(reader: &mut dyn BufRead, text: &mut Vec<u8>, max: usize) -> io::Result<usize> {
    let bytes = reader.take(max as u64 + 1).read_until(b'\n', text)?;
    if bytes > max {
        return Err(io::Error::other(format!("a line is longer than {max} bytes")));
    }
    Ok(bytes)
}

pub enum Compressor<W: Write> {
    None(W),
    Gzip(GzEncoder<W>),
    Zstd(zstd::stream::write::Encoder<'static, W>),
}

impl<W: Write> Compressor<W> {
    pub fn new(out: W, compression: Compression) -> io::Result<Self> {
        Ok(match compression {
            Compression::None => Self::None(out),
            Compression::Gzip => Self::Gzip(GzEncoder::new(out, flate2::Compression::default())),
            Compression::Zstd => {
                Self::Zstd(zstd::stream::write::Encoder::new(out, zstd::DEFAULT_COMPRESSION_LEVEL)?)
            }
        })
    }

    /// Ends the stream, and returns its output.
    pub fn finish(self) -> io::Result<W> {
        match self {
            Self::None(out) => Ok(out),
            Self::Gzip(encoder) => encoder.finish(),
            Self::Zstd(encoder) => encoder.finish(),
        }
    }
}

impl<W: Write> Write for Compressor<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::None(out) => out.write(bytes),
            Self::Gzip(encoder) => encoder.write(bytes),
            Self::Zstd(encoder) => encoder.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::None(out) => out.flush(),
            Self::Gzip(encoder) => encoder.flush(),
            Self::Zstd(encoder) => encoder.flush(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Compression; 3] = [Compression::None, Compression::Gzip, Compression::Zstd];

    fn compressed(text: &[u8], compression: Compression) -> Vec<u8> {
        let mut out = Compressor::new(Vec::new(), compression).unwrap();
        out.write_all(text).unwrap();
        out.finish().unwrap()
    }

    fn inside(bytes: Vec<u8>, compression: Compression) -> io::Result<Vec<u8>> {
        let mut text = Vec::new();
        reader(io::Cursor::new(bytes), compression)?.read_to_end(&mut text)?;
        Ok(text)
    }

    #[test]
    fn what_is_compressed_is_read_again_also_in_several_pieces() {
        for compression in ALL {
            let mut bytes = compressed(b"one\n", compression);
            bytes.extend(compressed(b"two\n", compression));
            assert_eq!(inside(bytes, compression).unwrap(), b"one\ntwo\n", "{compression:?}");
        }
    }

    #[test]
    fn what_was_cut_is_no_whole_file() {
        for compression in [Compression::Gzip, Compression::Zstd] {
            let mut bytes = compressed(&b"a line\n".repeat(1_000), compression);
            bytes.truncate(bytes.len() - 5);
            assert!(inside(bytes, compression).is_err(), "{compression:?}");
        }
    }

    #[test]
    fn a_line_has_its_bound() {
        let mut text = Vec::new();
        assert_eq!(read_line(&mut &b"abc\nd"[..], &mut text, 4).unwrap(), 4);
        assert!(read_line(&mut &b"abcd\n"[..], &mut text, 4).is_err());
    }
}
