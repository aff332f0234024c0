//! Checks the data folder, its disk, its database, and the clock.

use std::fs;
use std::iter;
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use overnight_app::{clock_checks, left_behind, store_options};
use overnight_config::{ByteSize, Config, Database};
use overnight_store::identity::accounts;
use overnight_store::operations::integrity;
use overnight_store::{
    DATABASE_FILE, DiskSpace, FolderLock, ServerFault, Store, StoreError, exposures, is_used, server_faults,
};

use super::{Finding, models};
use crate::connection::whole;
use crate::errors::CliError;
use crate::times;

const MODES: &str = "file modes";
const LOG: &str = "write-ahead log";
/// The log is copied into the database every few MiB, and truncated within a minute.
const LOG_TO_WARN: u64 = GIB;

const PAGES: &str = "database pages";
/// The time limit of the page check.
const PAGES_MS: i64 = 10_000;

/// 1 January 2026: an earlier clock is wrong.
const EARLIEST_MS: i64 = 1_767_225_600_000;
/// The tolerance for files with times in the future.
const AHEAD_MS: i64 = 60_000;

const GIB: u64 = 1 << 30;
const FREE_TO_WARN: u64 = 2 * GIB;
/// The limit without a reserve.
const FREE_TO_FAIL: u64 = GIB / 8;

/// The folder itself, its holder, and its permissions.
pub(super) fn check(data_dir: &Path) -> Vec<Finding> {
    let shown = data_dir.display();
    if !data_dir.exists() {
        let shown = whole(data_dir);
        let message = format!("{} is made by the first start; --data-dir names another", shown.display());
        return vec![Finding::ok("data folder", message)];
    }
    let mut findings = vec![match tempfile::tempfile_in(data_dir) {
        Ok(_) => Finding::ok("data folder", format!("{shown} can be written")),
        Err(error) => {
            let hint =
                "give the user that runs the service the right to write there, or choose another --data-dir";
            Finding::fail("data folder", format!("{shown} cannot be written: {error}"), hint)
        }
    }];
    findings.push(match FolderLock::holder(data_dir) {
        Some(pid) => Finding::ok("lock", format!("process {pid} serves it")),
        None => Finding::ok("lock", "no process serves it"),
    });
    findings.extend(modes(data_dir));
    findings
}

/// Free space, and the reserve for creates. `measured` is the store's report of its disk.
fn space(config: &Config, measured: Option<DiskSpace>) -> Option<Finding> {
    let setting = match config.database {
        Database::Sqlite => config.disk_reserve.map(|ByteSize(bytes)| bytes),
        Database::Postgres(_) => Some(0),
    };
    let DiskSpace { free, reserve } =
        measured.or_else(|| DiskSpace::measure(&config.data_dir, 0, setting))?;
    let in_gib = |bytes: u64| bytes as f64 / GIB as f64;
    if reserve > 0 && free < reserve {
        let message =
            format!("{:.1} GiB free, below the reserve of {:.1} GiB", in_gib(free), in_gib(reserve));
        let stopped = match free < reserve / 2 {
            true => "creates are refused, and nothing is sent to engines",
            false => "creates are refused",
        };
        let hint = format!("{stopped}: make room on the disk, or lower `disk_reserve`");
        return Some(Finding::fail("disk", message, hint));
    }
    let message = match reserve {
        0 => format!("{:.1} GiB free", in_gib(free)),
        _ => format!("{:.1} GiB free; reserve: {:.1} GiB", in_gib(free), in_gib(reserve)),
    };
    let hint = "each queued request takes about 1.5 times its size; a full disk stops new ones";
    Some(match free {
        ..FREE_TO_FAIL if reserve == 0 => Finding::fail("disk", message, hint),
        ..FREE_TO_WARN => Finding::warn("disk", message, hint),
        _ => Finding::ok("disk", message),
    })
}

/// Which other users can access the folder and its files.
fn modes(data_dir: &Path) -> Vec<Finding> {
    let found = exposures(data_dir);
    if found.is_empty() {
        return vec![Finding::ok(MODES, "the data folder and its files are for their owner only")];
    }
    let told = found.into_iter().map(|exposure| {
        let advice = exposure.advice();
        let hint = format!(
            "commands that open the folder, such as this one, correct what their user owns; {advice}"
        );
        match exposure.is_public {
            true => Finding::fail(MODES, format!("{exposure}: every user of this machine can use it"), hint),
            false => Finding::warn(MODES, exposure.to_string(), hint),
        }
    });
    told.collect()
}

/// Whether this program can open the database, the space on its disk, and requests for removed models.
pub(super) async fn database(config: &Config) -> Vec<Finding> {
    let (findings, measured, left) = open(config).await;
    space(config, measured).into_iter().chain(findings).chain(models::left_behind(&left)).collect()
}

async fn open(config: &Config) -> (Vec<Finding>, Option<DiskSpace>, Vec<(String, i64)>) {
    let (hint, place) = match &config.database {
        Database::Sqlite => {
            let path = config.data_dir.join(DATABASE_FILE);
            if !path.exists() && !is_used(&config.data_dir) {
                let made = format!("{} is made by the first start", path.display());
                return (vec![Finding::ok("database", made)], None, Vec::new());
            }
            ("keep the folder as it is; the message says what SQLite found", String::new())
        }
        Database::Postgres(url) => (
            "see that the server runs, that `database_url` leads to it, and what its role may do: docs/postgresql.md",
            format!("{url} "),
        ),
    };
    let store = match Store::open_to_read(&store_options(config)).await {
        Ok(store) => store,
        Err(error) => {
            let finding = Finding::fail("database", error.to_string(), hint_for(&error).unwrap_or(hint));
            return (vec![finding], None, Vec::new());
        }
    };
    let listed = accounts::list(&store).await;
    let space = store.disk_space().await.ok().flatten();
    let faults = server_faults(&store).await.unwrap_or_default();
    let left = left_behind(&store, config).await;
    store.close().await;
    match listed.and_then(|accounts| Ok((accounts, left?))) {
        Ok((accounts, left)) => {
            let opens = Finding::ok("database", format!("{place}opens; accounts: {}", accounts.len()));
            let warn = |fault: ServerFault| Finding::warn("database", fault.what, fault.advice);
            (iter::once(opens).chain(faults.into_iter().map(warn)).collect(), space, left)
        }
        Err(error) => (vec![Finding::fail("database", error.to_string(), hint)], space, Vec::new()),
    }
}

/// Verifies as many pages of the database as [`PAGES_MS`] allows.
pub(super) async fn pages(config: &Config) -> Option<Finding> {
    let store = super::open_database(config).await?;
    let checked = tokio::select! {
        checked = integrity::check(&store) => checked,
        () = times::pause(PAGES_MS) => {
            let message = format!("no damage found within {}", times::duration(PAGES_MS));
            let hint = "the database is too large for a whole check here: `overnight audit` makes it";
            return Some(Finding { hint: Some(hint.to_owned()), ..Finding::ok(PAGES, message) });
        }
    };
    Some(match checked {
        Ok(()) => Finding::ok(PAGES, "no damage found"),
        Err(error) => {
            let error = CliError::from(error);
            Finding::fail(PAGES, error.message(), error.hint().unwrap_or_default())
        }
    })
}

/// The hint for an unusable database.
const fn hint_for(error: &StoreError) -> Option<&'static str> {
    match error {
        StoreError::Outdated { .. } => {
            Some("stop the service of the older release, and run `overnight migrate`")
        }
        StoreError::Encoding(_)
        | StoreError::Foreign { .. }
        | StoreError::Unreleased { .. }
        | StoreError::Lost { .. }
        | StoreError::OtherInstallation { .. } => {
            Some("the service does not start until then: docs/operating/data-folder.md")
        }
        _ => None,
    }
}

pub(super) fn log(data_dir: &Path) -> Option<Finding> {
    let bytes = fs::metadata(data_dir.join(format!("{DATABASE_FILE}-wal"))).ok()?.len();
    let message = format!("{} MiB", bytes >> 20);
    Some(match bytes {
        ..LOG_TO_WARN => Finding::ok(LOG, message),
        _ => Finding::warn(
            LOG,
            format!("{message}: it is not copied into the database"),
            "a program holds an old state of the database open, such as `sqlite3` or a command that hangs: end it",
        ),
    })
}

/// Whether the clock is plausible.
pub(super) async fn clock(config: &Config) -> Finding {
    let now = times::now();
    let shown = times::utc(now / 1_000);
    let hint = "set the clock, best by NTP: completion windows and key expiry go by it";
    let database = config.data_dir.join(DATABASE_FILE);
    let last_written = fs::metadata(database).and_then(|found| found.modified()).ok();
    let limit = UNIX_EPOCH + Duration::from_millis(u64::try_from(now + AHEAD_MS).unwrap_or(0));
    if now < EARLIEST_MS {
        return Finding::fail("clock", format!("it shows {shown}"), hint);
    }
    // The check of the database reports a database that cannot be read.
    let store = super::open_database(config).await;
    if let Ok(Some(fault)) = clock_checks::find_fault(store.as_ref(), now).await {
        return Finding::warn("clock", format!("it shows {shown}, and {}", fault.what()), hint);
    }
    if last_written.is_some_and(|at| at > limit) {
        return Finding::warn("clock", format!("it shows {shown}, and the database was written later"), hint);
    }
    Finding::ok("clock", shown)
}
