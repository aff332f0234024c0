//! Guesses the format of a file that was read as JSON Lines but has none.

use std::io::{self, BufRead, Read};

use overnight_tables::{Format, reader};

use super::source::Source;

const BYTES_SEEN: u64 = 16 << 10;

/// The first bytes of compressed files and of Parquet, with their descriptions.
const BEGINNINGS: [(&[u8], &str, &str); 3] = [
    (b"PAR1", "it looks like Parquet", "parquet"),
    (b"\x1f\x8b", "it looks compressed by gzip", "csv.gz, tsv.gz or jsonl.gz"),
    (b"\x28\xb5\x2f\xfd", "it looks compressed by Zstandard", "csv.zst, tsv.zst or jsonl.zst"),
];

/// Advice for a file of bad lines, if it looks like another format. `is_asked_about` says that a template asks about its rows.
pub(super) fn advice(source: &Source, is_asked_about: bool) -> Option<String> {
    if source.kind.format != Format::JsonLines {
        return None;
    }
    // Other code reports read errors.
    let beginning = read_beginning(source).unwrap_or_default();
    let (looks, format) = look(&beginning, is_asked_about)?;
    let asks = if is_asked_about { "" } else { ", and --prompt asks about its rows" };
    Some(format!("{looks}: --input-format {format} reads it{asks}"))
}

fn read_beginning(source: &Source) -> io::Result<Vec<u8>> {
    let mut beginning = Vec::new();
    reader(source.file.cursor(), source.kind.compression)?.take(BYTES_SEEN).read_to_end(&mut beginning)?;
    Ok(beginning)
}

fn look(beginning: &[u8], is_asked_about: bool) -> Option<(&'static str, &'static str)> {
    if let Some((_, looks, format)) = BEGINNINGS.iter().find(|(begins, ..)| beginning.starts_with(begins)) {
        return Some((looks, format));
    }
    let first = beginning.lines().next()?.ok()?;
    if first.trim_start_matches('\u{feff}').trim_start().starts_with(['{', '[']) {
        return None;
    }
    match (first.contains('\t'), first.contains(',') || is_asked_about) {
        (true, _) => Some(("it looks like a table with tabs between its columns", "tsv")),
        (false, true) => Some(("it looks like a table with commas between its columns", "csv")),
        (false, false) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_json_lines_is_known_by_how_it_begins() {
        for (text, is_asked_about, expected) in [
            (&b"id,text\n1,a\n"[..], false, Some("csv")),
            (b"id\ttext, all\n", false, Some("tsv")),
            (b"text\na\n", true, Some("csv")),
            (b"text\na\n", false, None),
            (b"PAR1\x00\xff", true, Some("parquet")),
            (b"\x1f\x8b\x08", false, Some("csv.gz, tsv.gz or jsonl.gz")),
            (b"\xef\xbb\xbf{\"a\": 1, \"b\"\n", true, None),
            (b"[1, 2]\n", false, None),
            (b"\xff,\n", true, None),
            (b"", true, None),
        ] {
            assert_eq!(look(text, is_asked_about).map(|(_, format)| format), expected, "{text:?}");
        }
    }
}
