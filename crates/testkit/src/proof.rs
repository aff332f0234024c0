//! Figures of the attacks on the service by `scripts/prove`.

use std::path::{Path, PathBuf};
use std::{env, fs};

use serde_json::{Map, Value, json};

/// The environment variable that names the folder for figures.
const FOLDER: &str = "RELIABILITY_FIGURES";

/// Writes an attack's figure, a phrase for people, into the file `<attack>.json` of the folder that `RELIABILITY_FIGURES` names. Does
/// nothing without that variable, so that a single test leaves no file.
pub fn record(attack: &str, figure: &str) {
    if let Some(file) = file_of(attack) {
        fs::write(file, json!({"attack": attack, "figure": figure}).to_string())
            .expect("a folder for figures");
    }
}

/// Adds to an attack's counts over all of its runs, in the file `<attack>.total.json` next to its figure.
pub fn add(attack: &str, counts: &[(&str, usize)]) {
    let Some(file) = file_of(&format!("{attack}.total")) else { return };
    let mut total: Map<String, Value> =
        fs::read(&file).map_or_else(|_| Map::new(), |text| serde_json::from_slice(&text).expect("counts"));
    for (name, count) in counts {
        let before = total.get(*name).and_then(Value::as_u64).unwrap_or(0);
        total.insert((*name).to_owned(), json!(before + *count as u64));
    }
    fs::write(file, Value::Object(total).to_string()).expect("a folder for figures");
}

fn file_of(name: &str) -> Option<PathBuf> {
    Some(Path::new(&env::var_os(FOLDER)?).join(format!("{name}.json")))
}
