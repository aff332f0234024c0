//! The sheet and the script. Their names carry their digests, so that browsers keep them for good.

use std::sync::LazyLock;

use sha2::{Digest, Sha256};

use crate::console::Assets;

const SHEET: &[u8] = include_bytes!("assets/console.css");
const SCRIPT: &[u8] = include_bytes!("assets/console.js");

/// What pages name.
pub(super) static NAMES: LazyLock<Assets> =
    LazyLock::new(|| Assets { sheet: name("console", SHEET, "css"), script: name("console", SCRIPT, "js") });

fn name(stem: &str, bytes: &[u8], extension: &str) -> String {
    let digest = Sha256::digest(bytes);
    let digits: String = digest[..6].iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{stem}.{digits}.{extension}")
}

/// The type and the bytes of what has this name.
pub(super) fn find(file: &str) -> Option<(&'static str, &'static [u8])> {
    match file {
        file if file == NAMES.sheet => Some(("text/css; charset=utf-8", SHEET)),
        file if file == NAMES.script => Some(("text/javascript; charset=utf-8", SCRIPT)),
        _ => None,
    }
}
