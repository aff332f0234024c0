//! `overnight restore`: restores a data folder from a backup and audits it.

use std::path::{Path, PathBuf};

use clap::{ArgGroup, Args, ValueHint};
use overnight_app::store_options;
use overnight_store::operations::backup::{self, OnBreach, Repository, Restored, Summary};
use serde_json::json;

use super::backup::told;
use super::model::size;
use crate::errors::{CliError, Exit};
use crate::globals::Globals;
use crate::lists::{Columns, List};
use crate::output::{Output, Tone};
use crate::paths::path;
use crate::times;

const COLUMNS: Columns =
    &[("BACKUP", 20), ("TAKEN", 20), ("SIZE", 9), ("STORED", 9), ("SCHEMA", 6), ("RELEASE", 0)];

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("instead").args(["list", "check"]))]
#[command(after_help = "\
--data-dir names the folder to make; it must hold no database. Every file of the backup is compared with its digest, and the
database is audited as by `overnight audit`, before it takes its name: until then no service can open it.

Stop the old service for good before you serve the restored folder: both would run the same requests and send the same
webhooks. What was acknowledged or done after the stamp of the backup is not in it: docs/operating/backup.md says what follows.")]
pub(crate) struct Arguments {
    /// The folder of the backups.
    #[arg(value_name = "REPOSITORY", value_hint = ValueHint::DirPath, value_parser = path())]
    repository: PathBuf,
    /// Which backup, as --list shows it [default: the newest].
    #[arg(long, value_name = "BACKUP", conflicts_with = "list")]
    backup: Option<String>,
    /// List the backups, and restore nothing.
    #[arg(long)]
    list: bool,
    /// Restore the backup into the system's folder for temporary files, audit it, and delete it again.
    #[arg(long)]
    check: bool,
    /// Restore a database that breaks what must hold; the breaches are told, and the exit code is 1.
    #[arg(long, conflicts_with = "instead")]
    allow_breaches: bool,
}

pub(crate) async fn run(arguments: Arguments, globals: &Globals, output: &Output) -> Result<Exit, CliError> {
    if arguments.list {
        return list(&Repository::list(&arguments.repository)?, output);
    }
    let id = arguments.backup.as_deref();
    let repository = Repository::open_to_read(&arguments.repository)?;
    if arguments.check {
        let begun = times::now();
        let restored = backup::check(&repository, id, &std::env::temp_dir()).await?;
        return tell(&restored, None, begun, output);
    }
    let config = globals.load_operator_config()?;
    let on_breach = if arguments.allow_breaches { OnBreach::Tell } else { OnBreach::Refuse };
    let begun = times::now();
    let restored = backup::restore(&repository, id, &store_options(&config), on_breach).await?;
    let exit = tell(&restored, Some(&config.data_dir), begun, output)?;
    if restored.live_requests + restored.waiting_events > 0 {
        output.note(
            "a service over this folder will run these requests and send these events: serve it once the old one is stopped for good",
        );
    }
    if restored.objects > 0 {
        output.note(&format!(
            "{} of its bodies are objects, which are not in the backup: `overnight audit --objects` looks for them",
            restored.objects
        ));
    }
    Ok(exit)
}

/// Prints which backup was restored to `folder` since `begun`, or only checked.
fn tell(restored: &Restored, folder: Option<&Path>, begun: i64, output: &Output) -> Result<Exit, CliError> {
    let took_ms = times::now().saturating_sub(begun);
    if output.is_json {
        let breaches: Vec<_> = restored
            .breaches
            .iter()
            .map(|(rule, breaches)| json!({"rule": rule, "breaches": breaches}))
            .collect();
        output.object(&json!({
            "backup": told(&restored.backup), "data_dir": folder, "schema": restored.schema,
            "requests": restored.requests, "live_requests": restored.live_requests,
            "waiting_events": restored.waiting_events, "objects": restored.objects, "is_sound": restored.breaches.is_empty(),
            "rules": restored.rules, "breaches": breaches, "duration_ms": took_ms,
        }))?;
    } else {
        output.line(&in_words(restored, folder, took_ms))?;
    }
    for (rule, breaches) in &restored.breaches {
        output.say(&output.set_off(&format!("BROKEN  {rule} ({breaches} breaches)"), Tone::Bad));
    }
    Ok(if restored.breaches.is_empty() { Exit::Done } else { Exit::Failed })
}

fn list(backups: &[Summary], output: &Output) -> Result<Exit, CliError> {
    let mut list = List::begin(output, COLUMNS);
    for backup in backups {
        let (bytes, new_bytes, schema) =
            (size(backup.bytes), size(backup.new_bytes), backup.schema.to_string());
        let cells =
            [&backup.id, &times::utc(backup.taken_at / 1_000), &bytes, &new_bytes, &schema, &backup.release];
        list.row(&told(backup), &cells.map(String::as_str))?;
    }
    list.end()?;
    Ok(Exit::Done)
}

fn in_words(restored: &Restored, folder: Option<&Path>, took_ms: i64) -> String {
    let Restored { backup, requests, live_requests, waiting_events, rules, .. } = restored;
    let sound = if restored.breaches.is_empty() { "all hold" } else { "not all hold" };
    let done =
        folder.map_or_else(|| "can be restored".to_owned(), |it| format!("restored to {}", it.display()));
    format!(
        "{} {done}: {}, {requests} requests, {live_requests} of them live, {waiting_events} events to send; \
         {rules} rules checked, {sound} ({:.1} s)",
        backup.id,
        size(backup.bytes),
        took_ms as f64 / 1_000.0
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_restored_is_told_with_what_a_service_will_do() {
        let backup = Summary {
            id: "20261120T211403.512Z".to_owned(),
            taken_at: 1_795_209_243_512,
            release: "0.1.0".to_owned(),
            schema: 28,
            bytes: 12_400_000_000,
            new_bytes: 0,
        };
        let restored = Restored {
            backup,
            schema: 28,
            requests: 7,
            live_requests: 3,
            waiting_events: 2,
            objects: 0,
            rules: 28,
            breaches: Vec::new(),
        };
        let said = in_words(&restored, Some(Path::new("new")), 41_260);
        assert_eq!(
            said,
            "20261120T211403.512Z restored to new: 12.4 GB, 7 requests, 3 of them live, 2 events to send; 28 rules checked, \
             all hold (41.3 s)"
        );
        assert!(
            in_words(&restored, None, 0)
                .starts_with("20261120T211403.512Z can be restored: 12.4 GB, 7 requests")
        );
    }
}
