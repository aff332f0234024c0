//! The format of a file, by its name or as specified.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Comma-separated values with a header line, as in RFC 4180.
    Csv,
    Tsv,
    JsonLines,
    Parquet,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    None,
    /// gzip, of one or several members.
    Gzip,
    /// Zstandard, of one or several frames.
    Zstd,
}

/// A format and its compression: `csv`, `tsv.gz`, `jsonl.zst`, `parquet`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kind {
    pub format: Format,
    /// None for Parquet, which compresses its own pages.
    pub compression: Compression,
}

const FORMATS: [(&str, Format); 6] = [
    ("csv", Format::Csv),
    ("tsv", Format::Tsv),
    ("jsonl", Format::JsonLines),
    ("ndjson", Format::JsonLines),
    ("parquet", Format::Parquet),
    ("pq", Format::Parquet),
];
const COMPRESSIONS: [(&str, Compression); 3] =
    [("gz", Compression::Gzip), ("zst", Compression::Zstd), ("zstd", Compression::Zstd)];

impl Kind {
    /// Uncompressed JSON Lines: the default for unknown extensions.
    pub const JSON_LINES: Self = Self { format: Format::JsonLines, compression: Compression::None };

    pub const NAMES: [&str; 10] =
        ["csv", "csv.gz", "csv.zst", "tsv", "tsv.gz", "tsv.zst", "jsonl", "jsonl.gz", "jsonl.zst", "parquet"];

    pub const OTHER_NAMES: [&str; 8] =
        ["csv.zstd", "tsv.zstd", "jsonl.zstd", "ndjson", "ndjson.gz", "ndjson.zst", "ndjson.zstd", "pq"];

    /// The kind of a file, by its last one or two extensions; JSON Lines by default. Fails for compressed Parquet.
    pub fn of_name(path: &Path) -> Result<Self, String> {
        let name = path.file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
        let (rest, compression) = match name.rsplit_once('.') {
            Some((rest, ending)) => match find(&COMPRESSIONS, ending) {
                Some(compression) => (rest, compression),
                None => (name.as_str(), Compression::None),
            },
            None => (name.as_str(), Compression::None),
        };
        let format = rest.rsplit_once('.').and_then(|(_, ending)| find(&FORMATS, ending));
        Self::of(format.unwrap_or(Format::JsonLines), compression)
    }

    fn of(format: Format, compression: Compression) -> Result<Self, String> {
        if format == Format::Parquet && compression != Compression::None {
            return Err("Parquet compresses its own pages, and is not compressed once more".to_owned());
        }
        Ok(Self { format, compression })
    }
}

impl FromStr for Kind {
    type Err = String;

    /// Reads `csv`, `jsonl.gz` and the like.
    fn from_str(text: &str) -> Result<Self, String> {
        let (format, compression) = match text.split_once('.') {
            Some((format, ending)) => (format, find(&COMPRESSIONS, ending)),
            None => (text, Some(Compression::None)),
        };
        match (find(&FORMATS, format), compression) {
            (Some(format), Some(compression)) => Self::of(format, compression),
            _ => Err("a format is csv, tsv, jsonl or parquet; .gz or .zst behind the first three says how it is compressed".to_owned()),
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |of: Format| FORMATS.iter().find(|(_, format)| *format == of).map_or("", |(name, _)| name);
        out.write_str(name(self.format))?;
        match COMPRESSIONS.iter().find(|(_, compression)| *compression == self.compression) {
            Some((ending, _)) => write!(out, ".{ending}"),
            None => Ok(()),
        }
    }
}

fn find<T: Copy>(table: &[(&str, T)], name: &str) -> Option<T> {
    table.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_what_a_file_holds() {
        for (name, expected) in [
            ("a.csv", "csv"),
            ("A.CSV.GZ", "csv.gz"),
            ("a.tsv", "tsv"),
            ("a.jsonl.zst", "jsonl.zst"),
            ("a.ndjson", "jsonl"),
            ("a.parquet", "parquet"),
            ("a.pq", "parquet"),
            ("a.gz", "jsonl.gz"),
            ("prompts", "jsonl"),
            ("prompts.txt", "jsonl"),
            ("csv", "jsonl"),
        ] {
            assert_eq!(Kind::of_name(Path::new(name)).unwrap().to_string(), expected, "{name}");
        }
        assert!(Kind::of_name(Path::new("a.parquet.gz")).unwrap_err().contains("its own pages"));
    }

    #[test]
    fn a_format_is_read_as_it_is_written() {
        for text in Kind::NAMES {
            assert_eq!(text.parse::<Kind>().unwrap().to_string(), text);
        }
        for text in Kind::OTHER_NAMES {
            assert!(Kind::NAMES.contains(&&*text.parse::<Kind>().unwrap().to_string()), "{text}");
        }
        for text in ["", "xlsx", "csv.bz2", ".gz", "parquet.zst"] {
            assert!(text.parse::<Kind>().is_err(), "{text}");
        }
    }
}
