//! A backup's description: two lines of JSON, the second with the SHA-256 of the first.

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::operations::backup::chunks::Digest;
use crate::operations::transfer::hex;

const FORMAT: &str = "overnight-backup";

/// The format's version. A newer one is refused.
pub(super) const VERSION: u32 = 1;

/// Of a file, which is read into memory: 67 bytes for each chunk of a database of 1 TiB.
pub(super) const BYTES_MAX: u64 = 272 << 20;

/// Pages are at most 64 KiB, and a chunk has 64.
const CHUNK_BYTES_MAX: u64 = 4 << 20;
const PAGES_MAX: u64 = u32::MAX as u64;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Manifest {
    pub(super) format: String,
    pub(super) version: u32,
    #[serde(flatten)]
    pub(super) summary: Summary,
    pub(super) page_bytes: u32,
    /// Pages per chunk; the last may have fewer.
    pub(super) chunk_pages: u32,
    pub(super) pages: u64,
    /// From the database's first page to its last.
    pub(super) chunks: Vec<Digest>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    pub id: String,
    /// In milliseconds since the Unix epoch; everything acknowledged before is in it.
    #[serde(rename = "taken_at_ms")]
    pub taken_at: i64,
    pub release: String,
    pub schema: i64,
    /// Of its database.
    pub bytes: u64,
    /// Bytes of the files that it added to the repository.
    pub new_bytes: u64,
}

/// The second line.
#[derive(Serialize, Deserialize)]
struct Trailer {
    sha256: String,
}

/// Why a manifest is invalid.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ManifestFault {
    /// To follow the file's name.
    Wrong(String),
    /// Newer than [`VERSION`].
    Newer(u32),
}

impl Manifest {
    pub(super) fn new(summary: Summary, page_bytes: u32, chunk_pages: u32, chunks: Vec<Digest>) -> Self {
        let pages = summary.bytes / u64::from(page_bytes);
        Self { format: FORMAT.to_owned(), version: VERSION, summary, page_bytes, chunk_pages, pages, chunks }
    }

    pub(super) fn to_text(&self) -> serde_json::Result<Vec<u8>> {
        let mut text = serde_json::to_vec(self)?;
        text.push(b'\n');
        let trailer = Trailer { sha256: hex(&Sha256::digest(&text)) };
        serde_json::to_writer(&mut text, &trailer)?;
        text.push(b'\n');
        Ok(text)
    }

    /// Inverse of [`Manifest::to_text`].
    pub(super) fn read(text: &[u8]) -> Result<Self, ManifestFault> {
        let wrong = |what: &str| ManifestFault::Wrong(what.to_owned());
        let cut = || wrong("was cut off");
        let end = text.iter().position(|byte| *byte == b'\n').ok_or_else(cut)? + 1;
        let (first, rest) = text.split_at(end);
        let trailer = rest.strip_suffix(b"\n").ok_or_else(cut)?;
        let trailer: Trailer = serde_json::from_slice(trailer).map_err(|_| cut())?;
        if trailer.sha256 != hex(&Sha256::digest(first)) {
            return Err(wrong("was changed: its first line has another SHA-256 than its second says"));
        }
        #[derive(Deserialize)]
        struct Kind {
            format: String,
            version: u32,
        }
        match serde_json::from_slice(first) {
            Ok(Kind { format, version }) if format == FORMAT && version > VERSION => {
                return Err(ManifestFault::Newer(version));
            }
            Ok(Kind { format, .. }) if format == FORMAT => {}
            _ => return Err(wrong("describes no backup")),
        }
        let manifest: Self = serde_json::from_slice(first)
            .map_err(|error| ManifestFault::Wrong(format!("is not understood: {error}")))?;
        if manifest.is_consistent() { Ok(manifest) } else { Err(wrong("contradicts itself")) }
    }

    /// Bytes of the chunk at this place.
    pub(super) fn length_of(&self, place: usize) -> usize {
        let whole = u64::from(self.chunk_pages) * u64::from(self.page_bytes);
        let rest = self.summary.bytes.saturating_sub(place as u64 * whole);
        usize::try_from(rest.min(whole)).unwrap_or(usize::MAX)
    }

    fn is_consistent(&self) -> bool {
        let chunk_pages = u64::from(self.chunk_pages);
        (512..=65_536).contains(&self.page_bytes)
            && self.page_bytes.is_power_of_two()
            && chunk_pages > 0
            && chunk_pages * u64::from(self.page_bytes) <= CHUNK_BYTES_MAX
            && self.pages <= PAGES_MAX
            && self.pages.checked_mul(self.page_bytes.into()) == Some(self.summary.bytes)
            && self.pages.div_ceil(chunk_pages) == self.chunks.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest() -> Manifest {
        let summary = Summary {
            id: "20261120T211403.512Z".to_owned(),
            taken_at: 1_795_209_243_512,
            release: "0.1.0".to_owned(),
            schema: 28,
            bytes: 5 * 4_096,
            new_bytes: 999,
        };
        Manifest::new(summary, 4_096, 2, [b"a", b"b", b"c"].map(|part| Digest::of(part)).to_vec())
    }

    fn wrong(text: &[u8]) -> String {
        match Manifest::read(text) {
            Err(ManifestFault::Wrong(what)) => what,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_was_written_is_read() {
        let manifest = manifest();
        assert_eq!(Manifest::read(&manifest.to_text().unwrap()), Ok(manifest.clone()));
        assert_eq!([0, 1, 2, 3].map(|place| manifest.length_of(place)), [8_192, 8_192, 4_096, 0]);
    }

    #[test]
    fn a_manifest_of_a_terabyte_fits_its_bound_and_one_of_two_does_not() {
        let text = |chunks| {
            let chunks = vec![Digest::of(b"a"); chunks];
            Manifest { chunks, ..manifest() }.to_text().unwrap().len() as u64
        };
        let (some, more) = (text(1_000), text(2_000));
        let of_chunks = |chunks: u64| some + (more - some) / 1_000 * chunks;
        let tebibyte = (1 << 40) / (64 * 4_096);
        assert!((of_chunks(tebibyte)..of_chunks(2 * tebibyte)).contains(&BYTES_MAX));
    }

    #[test]
    fn every_cut_and_every_change_is_found() {
        let text = manifest().to_text().unwrap();
        for length in 0..text.len() {
            assert_eq!(wrong(&text[..length]), "was cut off", "{length}");
        }
        for place in 0..text.len() {
            let mut changed = text.clone();
            changed[place] ^= 1;
            assert!(Manifest::read(&changed).is_err(), "{place}");
        }
        assert_eq!(wrong(&[text.as_slice(), b"{}\n"].concat()), "was cut off");
    }

    #[test]
    fn what_a_newer_program_wrote_is_told_from_what_is_no_backup() {
        let newer = Manifest { version: 2, ..manifest() };
        assert_eq!(Manifest::read(&newer.to_text().unwrap()), Err(ManifestFault::Newer(2)));
        let other = Manifest { format: "overnight-export".to_owned(), ..manifest() };
        assert_eq!(wrong(&other.to_text().unwrap()), "describes no backup");
    }

    #[test]
    fn each_number_that_fits_no_other_is_refused() {
        let bytes = |bytes| Summary { bytes, ..manifest().summary };
        let chunks = |count| vec![Digest::of(b"a"); count];
        for contradicting in [
            Manifest { pages: 6, ..manifest() },
            Manifest { page_bytes: 256, summary: bytes(5 * 256), ..manifest() },
            Manifest { page_bytes: 131_072, summary: bytes(5 * 131_072), ..manifest() },
            Manifest { chunk_pages: 0, ..manifest() },
            Manifest { chunk_pages: 1_025, chunks: chunks(1), ..manifest() },
            Manifest { chunk_pages: u32::MAX, chunks: chunks(1), ..manifest() },
            Manifest { page_bytes: 4_095, summary: bytes(5 * 4_095), ..manifest() },
            Manifest { summary: bytes(5 * 4_096 + 1), ..manifest() },
            Manifest { chunks: chunks(2), ..manifest() },
            Manifest { chunks: chunks(4), ..manifest() },
            Manifest { pages: u64::MAX, summary: bytes(u64::MAX), ..manifest() },
        ] {
            let text = contradicting.to_text().unwrap();
            assert_eq!(wrong(&text), "contradicts itself", "{contradicting:?}");
        }
        for whole in [
            Manifest { page_bytes: 512, summary: bytes(5 * 512), ..manifest() },
            Manifest { page_bytes: 65_536, summary: bytes(5 * 65_536), ..manifest() },
            Manifest { chunk_pages: 1, chunks: chunks(5), ..manifest() },
            Manifest { chunk_pages: 1_024, chunks: chunks(1), ..manifest() },
            Manifest {
                page_bytes: 65_536,
                chunk_pages: 64,
                summary: bytes(5 * 65_536),
                chunks: chunks(1),
                ..manifest()
            },
        ] {
            assert_eq!(Manifest::read(&whole.to_text().unwrap()), Ok(whole));
        }
    }
}
