//! Opens a state of the disk and checks it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use tempfile::TempDir;

use super::chance::Chance;
use super::disk;
use super::facts::{self, Facts};
use super::recorded::Recorded;
use crate::support::{Ran, program};

/// A folder in memory if the system has one, because a state is written and read once.
pub(super) fn scratch() -> TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.unwrap()
}

/// Rebuilds a state of a run's folder, opens it with the program, and checks that all reported facts are there; returns their number.
pub(super) fn check(run: &Recorded, at: usize, chance: &mut Chance) -> usize {
    let folder = scratch();
    let data = folder.path().join("data");
    disk::rebuild(run, at, chance, &data);
    let told = facts::told_before(run, at);
    check_folder(&data, &told, &format!("after record {at} of {}", run.records.len()));
    told.len()
}

/// Checks that the program's own audit of a folder is clean, and that all facts are in it.
pub(super) fn check_folder(data: &Path, told: &Facts, when: &str) {
    let file = data.join("overnight.db");
    if told.is_empty() && !file.exists() {
        return;
    }
    let audit = audit(data);
    if audit.code != 0 {
        let kept = keep(data);
        panic!(
            "{when}: the audit ends with {}: {}{}; see {}",
            audit.code,
            audit.stdout,
            audit.stderr,
            kept.display()
        );
    }
    let stored = stored(&file);
    for (id, ended) in told {
        let found = stored.get(id);
        let is_so = found.is_some_and(|status| ended.as_ref().is_none_or(|ended| ended == status));
        assert!(
            is_so,
            "{when}: {id} was told to be {ended:?}, and is {found:?}; see {}",
            keep(data).display()
        );
    }
}

fn audit(data: &Path) -> Ran {
    let settings = data.with_extension("toml");
    let engine = "[[models]]\nname = \"m\"\n[[engines]]\nname = \"sim\"\nkind = \"openai\"\nbase_url = \"http://127.0.0.1:1/v1\"\n";
    fs::write(&settings, format!("data_dir = \"{}\"\n{engine}", data.display())).unwrap();
    // The power may have been lost during the migration.
    let migrated: Ran = program().arg("migrate").arg("--config").arg(&settings).output().unwrap().into();
    match migrated.code {
        0 => program().arg("audit").arg("--config").arg(settings).output().unwrap().into(),
        _ => migrated,
    }
}

fn stored(file: &Path) -> BTreeMap<String, String> {
    let database = Connection::open(file).unwrap();
    let mut found = BTreeMap::new();
    for view in ["overnight_requests", "overnight_batches"] {
        let mut rows = database.prepare(&format!("SELECT id, status FROM {view}")).unwrap();
        let rows = rows.query_map((), |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        found.extend(rows.map(Result::unwrap));
    }
    found
}

/// Copies a failed state to a folder that outlives the test.
fn keep(data: &Path) -> PathBuf {
    let kept = tempfile::tempdir().unwrap().keep();
    for entry in fs::read_dir(data).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            fs::copy(&path, kept.join(path.file_name().unwrap())).unwrap();
        }
    }
    kept
}
