//! The style sheet and scripts. Their names contain digests, so browsers keep them for good. They are compressed for browsers that accept
//! it: they are the same for all users, so their length reveals nothing about a page.

use std::io::Write as _;
use std::sync::LazyLock;

use crate::pages::Assets;
use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest, Sha256};

const CSS: &str = "text/css; charset=utf-8";
const JAVASCRIPT: &str = "text/javascript; charset=utf-8";

/// The names that pages use.
pub(super) static NAMES: LazyLock<Assets> = LazyLock::new(|| {
    let name = |asset: &Asset| asset.name.clone();
    let [sheet, script, table_script] = &*ALL;
    Assets { sheet: name(sheet), script: name(script), table_script: name(table_script) }
});

static ALL: LazyLock<[Asset; 3]> = LazyLock::new(|| {
    [
        Asset::new("console", "css", CSS, include_bytes!("assets/console.css")),
        Asset::new("console", "js", JAVASCRIPT, include_bytes!("assets/console.js")),
        Asset::new("tables", "js", JAVASCRIPT, include_bytes!("assets/tables.js")),
    ]
});

pub(super) struct Asset {
    name: String,
    pub(super) content_type: &'static str,
    pub(super) bytes: &'static [u8],
    /// Compressed with gzip.
    pub(super) packed: Vec<u8>,
}

impl Asset {
    fn new(stem: &str, extension: &str, content_type: &'static str, bytes: &'static [u8]) -> Self {
        let digest = Sha256::digest(bytes);
        let digits: String = digest[..6].iter().map(|byte| format!("{byte:02x}")).collect();
        Self { name: format!("{stem}.{digits}.{extension}"), content_type, bytes, packed: pack(bytes) }
    }
}

fn pack(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    // Writing to memory cannot fail.
    let _ = encoder.write_all(bytes);
    encoder.finish().unwrap_or_default()
}

pub(super) fn find(file: &str) -> Option<&'static Asset> {
    ALL.iter().find(|asset| asset.name == file)
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use flate2::read::GzDecoder;

    use super::*;

    #[test]
    fn what_is_packed_is_the_same_and_short() {
        let mut sum = 0;
        for asset in ALL.iter() {
            let mut unpacked = Vec::new();
            GzDecoder::new(&*asset.packed).read_to_end(&mut unpacked).expect("gzip");
            assert_eq!(unpacked, asset.bytes, "{}", asset.name);
            sum += asset.packed.len();
        }
        assert!(sum < 16_000, "{sum} bytes on a first visit");
    }
}
