//! The catalogue is whole, and the documents show it.

use std::collections::BTreeSet;
use std::path::Path;
use std::{env, fs};

use metrics::Unit;

use super::*;

const CRATES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
const COUNTING: [&str; 8] =
    ["app", "base", "engine-clients", "http", "outgoing", "runtime", "server", "store"];
const DOCUMENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/metrics.md");

/// The metric names in quotes in the sources of this folder.
fn names_in(folder: &Path, names: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.ends_with("telemetry") || path.ends_with("tests") {
            continue;
        }
        if path.is_dir() {
            names_in(&path, names);
            continue;
        }
        let text = fs::read_to_string(&path).unwrap_or_default();
        let quoted = text.split("\"overnight_").skip(1).filter_map(|rest| rest.split('"').next());
        let is_name = |name: &&str| name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
        names.extend(quoted.filter(is_name).map(|name| format!("overnight_{name}")));
    }
}

#[test]
fn every_metric_that_is_counted_is_described_and_every_described_one_is_counted() {
    let mut named = BTreeSet::new();
    for name in COUNTING {
        names_in(&Path::new(CRATES).join(name).join("src"), &mut named);
    }
    let mut described: BTreeSet<String> = catalogue::all().map(|metric| metric.name.to_owned()).collect();
    described.remove("overnight_build_info");
    // A metadata key at the payment provider, and a cookie.
    for other in ["overnight_payment", "overnight_account"] {
        named.remove(other);
    }
    assert_eq!(named, described);
}

#[test]
fn counters_and_only_they_end_in_total_and_units_are_in_names() {
    for metric in catalogue::all() {
        let name = metric.name;
        assert_eq!(name.ends_with("_total"), metric.kind == MetricKind::Counter, "{name}");
        let is_of_time = matches!(metric.unit, Unit::Seconds);
        assert_eq!(name.ends_with("_seconds"), is_of_time, "{name}");
        assert_eq!(name.ends_with("_bytes"), matches!(metric.unit, Unit::Bytes), "{name}");
        assert!(metric.help.ends_with('.') && !metric.help.contains('|'), "{name}");
    }
}

#[test]
fn counters_with_known_labels_are_there_before_anything_happens() {
    install();
    begin_engine("gpu-0");
    let page = render();
    for line in [
        "overnight_requests_accepted_total ",
        "overnight_requests_ended_total{outcome=\"cancelled\"} ",
        "overnight_engine_prompt_tokens_total{engine=\"gpu-0\"} ",
        "overnight_engine_starts_total{engine=\"gpu-0\",outcome=\"failed\"} ",
        "overnight_build_info{version=\"",
    ] {
        assert!(page.lines().any(|shown| shown.starts_with(line)), "{line}\n{page}");
    }
}

fn table() -> String {
    let mut table = String::from("| metric | type | unit | says |\n|---|---|---|---|\n");
    for Metric { name, kind, unit, help, labels } in catalogue::all() {
        let labels = match labels {
            Labels::None => String::new(),
            Labels::Known(label, values) => format!(" `{label}`: {}.", code(values)),
            Labels::OfEngine(label, values) => format!(" `engine`; `{label}`: {}.", code(values)),
            Labels::Of(labels) => format!(" Labels: {}.", code(labels)),
        };
        let kind = format!("{kind:?}").to_lowercase();
        let unit = match unit {
            Unit::Seconds => "seconds",
            Unit::Bytes => "bytes",
            _ => "",
        };
        table.push_str(&format!("| `{name}` | {kind} | {unit} | {help}{labels} |\n"));
    }
    table
}

fn code(words: &[&str]) -> String {
    words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}

#[test]
fn the_document_lists_every_metric() {
    let text = fs::read_to_string(DOCUMENT).unwrap();
    let begin = text.find("| metric |").unwrap();
    let end = begin + text[begin..].find("\n\n").map_or(text.len() - begin, |at| at + 1);
    if env::var_os("UPDATE").is_some() {
        fs::write(DOCUMENT, format!("{}{}{}", &text[..begin], table(), &text[end..])).unwrap();
        return;
    }
    assert_eq!(&text[begin..end], table(), "UPDATE=1 writes the table");
}
