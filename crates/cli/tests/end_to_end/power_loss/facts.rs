//! Facts that the program reported to its clients.

use std::collections::BTreeMap;

use serde_json::Value;

use super::recorded::{Record, Recorded};

const ENDED: [&str; 3] = ["completed", "failed", "cancelled"];

/// Known requests and batches, each with its final state if it has one.
pub(super) type Facts = BTreeMap<String, Option<String>>;

/// All facts reported in the first `at` records: an answer is logged before it is sent.
pub(super) fn told_before(run: &Recorded, at: usize) -> Facts {
    let mut facts = Facts::new();
    let sent = run.records[..at].iter().filter_map(|record| match record {
        Record::Sent { data } => std::str::from_utf8(data).ok(),
        _ => None,
    });
    for text in sent.filter(|text| text.starts_with("HTTP/1.1 2")) {
        let Some((_, body)) = text.split_once("\r\n\r\n") else { continue };
        // Partial lists and bodies that the log truncates are ignored.
        body.lines()
            .filter_map(|line| serde_json::from_str(line).ok())
            .for_each(|value| learn(&value, &mut facts));
    }
    facts
}

fn learn(value: &Value, facts: &mut Facts) {
    match value {
        Value::Array(values) => values.iter().for_each(|value| learn(value, facts)),
        Value::Object(fields) => {
            let id = fields.get("id").and_then(Value::as_str);
            if let Some(id) = id.filter(|id| id.starts_with("req_") || id.starts_with("batch_")) {
                let status =
                    fields.get("status").and_then(Value::as_str).filter(|status| ENDED.contains(status));
                let known = facts.entry(id.to_owned()).or_default();
                *known = known.take().or_else(|| status.map(str::to_owned));
            }
            fields.values().for_each(|value| learn(value, facts));
        }
        _ => {}
    }
}
