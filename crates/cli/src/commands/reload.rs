//! `overnight reload`: the service on this machine reloads its settings.

use std::path::Path;
use std::time::Duration;

use clap::Args;
use overnight_store::LOCK_FILE;
use serde_json::json;
use tokio::time::timeout;

use crate::errors::{CliError, Exit};
use crate::globals::{Globals, refuse_closed};
use crate::output::Output;
use crate::serve_file::settings_of_running;
use crate::settings_file::{LoadedSettings, ReloadOutcome};
use crate::times;

/// The interval of checks for the end.
const LOOK_MS: i64 = 50;

/// Longer than any wait for a store.
const WAIT: Duration = Duration::from_secs(60);

#[derive(Debug, Args)]
#[command(after_help = "\
The service must run on this machine with the same data folder. It is sent SIGHUP and reads its file of settings again, with the
environment and the flags that it was started with. Where the settings cannot be used, it goes on with those of before.
docs/operating/reload.md says which settings hold without a restart.")]
pub(crate) struct Arguments {}

pub(crate) async fn run(globals: &Globals, output: &Output) -> Result<Exit, CliError> {
    let config = globals.config_with(Vec::new())?;
    refuse_closed(&config)?;
    let data_dir = config.data_dir;
    let none = || {
        let what = format!("no service runs with the data folder {}", data_dir.display());
        CliError::unavailable(what)
            .with_hint("name its folder with --data-dir, or its settings with --config")
    };
    let (pid, before) = settings_of_running(&data_dir).ok_or_else(none)?;
    let Some(before) = before else {
        let what = format!(
            "process {pid} has the data folder and is no `overnight serve`: it does not load its settings again"
        );
        return Err(CliError::unusable(what));
    };
    hang_up(pid, &data_dir)?;
    let loaded = async {
        loop {
            times::pause(LOOK_MS).await;
            match settings_of_running(&data_dir) {
                Some((now, Some(settings))) if now == pid && settings.reloads == before.reloads => {}
                Some((now, Some(settings))) if now == pid => return Ok(settings),
                _ => return Err(CliError::unavailable("the service ended instead of loading its settings")),
            }
        }
    };
    let waited = timeout(WAIT, loaded).await;
    let late = |_| {
        let within = WAIT.as_secs();
        CliError::unavailable(format!(
            "the service has not noted within {within} s how loading its settings went"
        ))
        .with_hint("its log says whether they were loaded; on a full disk that cannot be noted")
    };
    tell(waited.map_err(late)??, output)
}

fn tell(settings: LoadedSettings, output: &Output) -> Result<Exit, CliError> {
    let (changed, needs_restart) = match settings.last {
        Some(ReloadOutcome::Loaded { changed, needs_restart }) => (changed, needs_restart),
        Some(ReloadOutcome::Refused(why)) => {
            return Err(CliError::unusable(format!(
                "the service goes on with the settings of before: {why}"
            )));
        }
        None => (Vec::new(), Vec::new()),
    };
    output.either(&json!({"changed": changed, "needs_restart": needs_restart}), || {
        let list = |names: &[String]| names.join(", ");
        let changed = match changed.is_empty() {
            true => "loaded; no setting that holds without a restart has changed".to_owned(),
            false => format!("loaded; changed: {}", list(&changed)),
        };
        match needs_restart.is_empty() {
            true => changed,
            false => format!("{changed}\nchanged, and holds after a restart: {}", list(&needs_restart)),
        }
    })?;
    Ok(Exit::Done)
}

fn hang_up(pid: u32, data_dir: &Path) -> Result<(), CliError> {
    use rustix::process::{Pid, Signal, kill_process};
    let process = i32::try_from(pid).ok().and_then(Pid::from_raw);
    let process = process.ok_or_else(|| CliError::unusable(format!("{pid} is no process")))?;
    if !has_lock_open(pid, data_dir) {
        let what = format!(
            "process {pid} does not serve {} here: the service runs in another PID namespace, such as a container, or as another user",
            data_dir.display()
        );
        return Err(CliError::unusable(what).with_hint(
            "run this in the container of the service, as its user or as root, or send SIGHUP to the service",
        ));
    }
    kill_process(process, Signal::HUP).map_err(|error| {
        let what = format!("the service (process {pid}) cannot be sent a signal: {error}");
        CliError::unusable(what).with_hint("run this as the user of the service, or as root")
    })
}

/// Whether the process of this number has the lock of the folder open. A number from another PID namespace names another
/// process.
#[cfg(target_os = "linux")]
fn has_lock_open(pid: u32, data_dir: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let place = |path: &Path| std::fs::metadata(path).ok().map(|found| (found.dev(), found.ino()));
    let lock = place(&data_dir.join(LOCK_FILE));
    let Ok(open) = std::fs::read_dir(format!("/proc/{pid}/fd")) else { return false };
    lock.is_some() && open.flatten().any(|file| place(&file.path()) == lock)
}

#[cfg(not(target_os = "linux"))]
fn has_lock_open(_: u32, _: &Path) -> bool {
    true
}
