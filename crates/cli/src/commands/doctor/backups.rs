//! Checks that the data folder has a recent backup.

use std::path::Path;

use overnight_config::{Config, Database};
use overnight_store::DATABASE_FILE;
use overnight_store::operations::backup::Repository;

use super::Finding;
use crate::last_backup::LastBackup;
use crate::times;

const CHECK: &str = "backups";

/// `None` if there is no data to back up yet.
pub(super) fn check(config: &Config) -> Option<Finding> {
    if config.database != Database::Sqlite {
        return Some(Finding::ok(CHECK, "they are PostgreSQL's own: docs/operating/backup.md"));
    }
    if !config.data_dir.join(DATABASE_FILE).exists() {
        return None;
    }
    let age_max = config.backup_max_age.0;
    if age_max == 0 {
        return Some(Finding::ok(CHECK, "their age is not watched: `backup_max_age` is 0s"));
    }
    Some(match LastBackup::read(&config.data_dir) {
        Ok(None) => {
            let hint = "take one: docs/operating/backup.md; where the folder is copied by other means, set `backup_max_age` = \"0s\"";
            Finding::warn(CHECK, "`overnight backup` has taken none of this folder", hint)
        }
        Ok(Some(last)) => judge(&last, age_max, times::now()),
        Err(error) => {
            let message =
                format!("the note of the last one in {} cannot be read: {error}", config.data_dir.display());
            Finding::warn(CHECK, message, "run this command as the user that takes the backups")
        }
    })
}

/// Checks the age of the newest backup in the repository.
fn judge(last: &LastBackup, age_max: i64, now: i64) -> Finding {
    let place = last.repository.display();
    match newest(&last.repository) {
        Ok(None) => {
            let message =
                format!("{place} holds none any more; the last one was of {}", stamp(last.taken_at_ms));
            Finding::warn(CHECK, message, "take one: docs/operating/backup.md")
        }
        Ok(Some(_)) if !Repository::list_damaged(&last.repository).unwrap_or_default().is_empty() => {
            let message = format!(
                "{} holds backups that cannot be restored",
                last.repository.join("damaged").display()
            );
            Finding::warn(CHECK, message, "docs/operating/backup.md#a-damaged-repository")
        }
        Ok(Some(taken_at)) if taken_at > now => {
            let message = format!("the newest in {place} is of {}, which is later than now", stamp(taken_at));
            Finding::warn(
                CHECK,
                message,
                "see that the clock of the machine is right, and take another backup",
            )
        }
        Ok(Some(taken_at)) if now.saturating_sub(taken_at) > age_max => {
            let message = format!(
                "the newest in {place} is of {}, and `backup_max_age` is {}",
                stamp(taken_at),
                times::duration(age_max)
            );
            Finding::warn(CHECK, message, "see why no newer one is taken: the log of cron or of its service")
        }
        Ok(Some(taken_at)) => Finding::ok(CHECK, format!("the newest in {place} is of {}", stamp(taken_at))),
        Err(error) => {
            let message = format!("the last one, of {}, cannot be read: {error}", stamp(last.taken_at_ms));
            let hint = "see that the disk of the repository is there and that this user may read it";
            Finding::warn(CHECK, message, hint)
        }
    }
}

/// The stamp of the newest backup, in milliseconds.
fn newest(repository: &Path) -> Result<Option<i64>, String> {
    let backups = Repository::list(repository).map_err(|error| error.to_string())?;
    Ok(backups.last().map(|backup| backup.taken_at))
}

fn stamp(ms: i64) -> String {
    times::utc(ms / 1_000)
}
