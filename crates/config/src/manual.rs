//! The manual, `overnight.default.toml`: the lowest layer, and the list of known settings.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use strsim::levenshtein;

use super::tree::{Node, Value};
use super::{ConfigError, Read};

pub const MANUAL: &str = include_str!("../overnight.default.toml");

/// Sections whose keys the operator chooses.
const FREE: [&str; 4] = ["engines.models", "engines.env", "engines.headers", "engines.query"];

/// Every setting with its default or an example.
static KNOWN: LazyLock<Node> = LazyLock::new(|| read(&uncommented()));

pub(super) fn defaults() -> Node {
    read(MANUAL)
}

/// The manual, with the settings that are commented out enabled.
pub(super) fn uncommented() -> String {
    let is_prose = |rest: &str| rest.is_empty() || rest.starts_with(' ');
    let switched_on = |line| match str::strip_prefix(line, "#") {
        Some(rest) if !is_prose(rest) => rest,
        _ => line,
    };
    MANUAL.lines().map(switched_on).collect::<Vec<_>>().join("\n")
}

fn read(text: &str) -> Node {
    match Node::document(text, "the defaults") {
        Ok(node) => node,
        Err(error) => panic!("overnight.default.toml cannot be read: {error}"),
    }
}

/// The default or example at a path; of several sections in a list, the first that has the key.
pub(super) fn example(path: &str) -> Option<&'static Node> {
    path.split('.').try_fold(&*KNOWN, |node, key| match &node.value {
        Value::List(items) => items.iter().find_map(|item| item.get(key)),
        _ => node.get(key),
    })
}

/// Without the paths of sections.
pub(super) fn paths() -> Vec<String> {
    let mut found = Vec::new();
    collect(&KNOWN, "", &mut found);
    found.sort_unstable();
    found.dedup();
    found
}

fn collect(node: &Node, path: &str, found: &mut Vec<String>) {
    match &node.value {
        Value::Table(entries) if !FREE.contains(&path) => {
            for (key, entry) in entries {
                collect(entry, &join(path, key), found);
            }
        }
        Value::List(items) if items.iter().any(|item| matches!(item.value, Value::Table(_))) => {
            items.iter().for_each(|item| collect(item, path, found));
        }
        _ => found.push(path.to_owned()),
    }
}

pub(super) fn check(layer: &Node) -> Read<()> {
    check_at(layer, "")
}

fn check_at(node: &Node, path: &str) -> Read<()> {
    if FREE.contains(&path) {
        return Ok(());
    }
    match &node.value {
        Value::Table(entries) => entries.iter().try_for_each(|(key, entry)| {
            let path = join(path, key);
            match example(&path) {
                Some(_) => check_at(entry, &path),
                None => Err(unknown(&path, &entry.origin)),
            }
        }),
        Value::List(items) => items.iter().try_for_each(|item| check_at(item, path)),
        _ => Ok(()),
    }
}

pub(super) fn unknown(path: &str, origin: &str) -> ConfigError {
    ConfigError::new(format!("unknown setting `{path}` ({origin}); {}", advice(path)))
}

/// The known setting that was probably meant, or the settings of its section.
fn advice(path: &str) -> String {
    let known = paths();
    let (section, key) = split(path);
    let distance = |known: &&String| {
        let (known_section, known_key) = split(known);
        // A word of a longer key of its section, such as `url` for `base_url`.
        if known_section == section && known_key.split('_').any(|word| word == key) {
            return 0;
        }
        // A key in the wrong section is nearer than a misspelt one.
        levenshtein(path, known).min(levenshtein(key, known_key) + 1)
    };
    let nearest = known.iter().min_by_key(distance);
    if let Some(nearest) = nearest.filter(|nearest| distance(nearest) * 2 <= key.chars().count()) {
        return format!("the nearest known one is `{nearest}`");
    }
    let inside = known.iter().filter_map(|known| known.strip_prefix(section)?.strip_prefix('.'));
    let keys: BTreeSet<&str> = inside.filter_map(|rest| rest.split('.').next()).collect();
    match keys.is_empty() {
        true => "every setting stands in the manual, overnight.default.toml".to_owned(),
        false => format!("`{section}` has {}", Vec::from_iter(keys).join(", ")),
    }
}

fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('.').unwrap_or(("", path))
}

fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_setting_may_stand_in_another_section() {
        for (path, expected) in [
            ("leese", "lease"),
            ("request_body", "limits.request_body"),
            ("limits.meta_data", "limits.metadata"),
            ("engines.baseurl", "engines.base_url"),
            ("engines.url", "engines.base_url"),
            ("server.listen", "listen"),
        ] {
            assert_eq!(advice(path), format!("the nearest known one is `{expected}`"), "{path}");
        }
    }

    #[test]
    fn where_no_setting_is_near_those_of_the_section_are_named() {
        let of_models = advice("models.cost_of_everything");
        assert!(of_models.starts_with("`models` has ") && of_models.contains(" name,"), "{of_models}");
        for path in ["zzzzzz", "zzzzzz.yyyyyy"] {
            assert!(advice(path).ends_with("overnight.default.toml"), "{path}");
        }
    }
}
