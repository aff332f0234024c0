//! `overnight backup`: the data folder as of one moment, in a repository of backups.

use std::fs;
use std::path::{Component, Path, PathBuf};

use clap::{Args, ValueHint};
use overnight_config::{Config, Database, Millis};
use overnight_store::Store;
use overnight_store::operations::backup::{
    self, BackupError, Keep, Pruned, Repository, Summary, Taken, Unusable,
};
use serde_json::{Value, json};

use super::model::size;
use super::operator;
use crate::connection::whole;
use crate::errors::{CliError, Exit};
use crate::globals::Globals;
use crate::interrupt::Interrupt;
use crate::last_backup::LastBackup;
use crate::output::{Output, Tone};
use crate::paths::path;
use crate::times;

#[derive(Debug, Args)]
#[command(after_help = "\
The backup is as of one moment. A running service goes on; whatever it acknowledged before the stamp of the backup is in it.
Runs of pages that the repository has already are not stored again. `overnight restore` lists, checks and restores backups.

The repository holds all that the database holds, with its secrets: the signing secrets of webhooks and the secret of the
sort keys as they are, hashes of passwords, digests of API keys, and all prompts, answers and e-mail addresses. It is for
its owner only, as the data folder is. Encrypt what leaves this machine.")]
pub(crate) struct Arguments {
    /// The folder of the backups, on another disk; made if it is absent.
    #[arg(value_name = "REPOSITORY", value_hint = ValueHint::DirPath, value_parser = path())]
    repository: PathBuf,
    /// Go on, and take one each time so long after the last began, such as 1m.
    #[arg(long, value_name = "DURATION", value_parser = str::parse::<Millis>)]
    every: Option<Millis>,
    /// Delete all backups but so many of the newest, and what --keep-days keeps.
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..))]
    keep: Option<u32>,
    /// Keep the newest backup of each of so many of the latest days, UTC, too; deletes the others.
    #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(u32).range(1..))]
    keep_days: Option<u32>,
}

impl Arguments {
    /// The backups to keep; `None` keeps all.
    fn kept(&self) -> Option<Keep> {
        let count = |option: Option<u32>| option.unwrap_or(0) as usize;
        let keep = Keep { newest: count(self.keep).max(1), days: count(self.keep_days) };
        (self.keep.is_some() || self.keep_days.is_some()).then_some(keep)
    }
}

pub(crate) async fn run(arguments: Arguments, globals: &Globals, output: &Output) -> Result<Exit, CliError> {
    let config = globals.load_operator_config()?;
    // Before the first call to the server.
    if config.database != Database::Sqlite {
        return Err(BackupError::OnServer.into());
    }
    refuse_nested(&config.data_dir, &arguments.repository)?;
    let Some(Millis(every_ms)) = arguments.every else {
        return tell(&config, &arguments, &take(&arguments, globals).await??, output);
    };
    let interrupt = Interrupt::listen()?;
    loop {
        let next = times::now().saturating_add(every_ms);
        let done = tokio::select! {
            () = interrupt.raised() => return Ok(Exit::Done),
            done = take(&arguments, globals) => done?,
        };
        match done {
            Ok(done) => _ = tell(&config, &arguments, &done, output)?,
            // A restore reads the repository; the next backup follows soon.
            Err(error @ BackupError::InUse { .. }) => output.say(&format!("{error}: no backup this time")),
            Err(error) => return Err(error.into()),
        }
        tokio::select! {
            () = interrupt.raised() => return Ok(Exit::Done),
            () = times::pause(next.saturating_sub(times::now())) => {}
        }
    }
}

/// Backups inside the data folder would be lost with it, and a data folder inside a repository is not backed up separately.
fn refuse_nested(data_dir: &Path, repository: &Path) -> Result<(), CliError> {
    let (inner, outer) = (real(repository), real(data_dir));
    if !inner.starts_with(&outer) && !outer.starts_with(&inner) {
        return Ok(());
    }
    let message =
        format!("{} and the data folder {} are one in the other", repository.display(), data_dir.display());
    Err(CliError::unusable(message).with_hint("name a folder elsewhere, best on another disk"))
}

/// Resolves a path as far as it exists.
fn real(path: &Path) -> PathBuf {
    let mut real = PathBuf::new();
    for component in whole(path).components() {
        match component {
            Component::ParentDir => _ = real.pop(),
            other => real.push(other),
        }
        real = fs::canonicalize(&real).unwrap_or(real);
    }
    real
}

struct Done {
    taken: Taken,
    unusable: Vec<Unusable>,
    pruned: Option<Pruned>,
}

/// Opens the database that is in place now, which a restore may have replaced, and backs it up.
async fn take(arguments: &Arguments, globals: &Globals) -> Result<Result<Done, BackupError>, CliError> {
    let store = operator::open_store_to_read(globals).await?;
    let done = take_of(&store, arguments).await;
    store.close().await;
    Ok(done)
}

/// Takes a backup, sets aside backups that cannot be restored, and deletes backups that are not to be kept. The repository is unlocked
/// between two runs.
async fn take_of(store: &Store, arguments: &Arguments) -> Result<Done, BackupError> {
    let repository = Repository::open_to_write(&arguments.repository)?;
    let taken = backup::take(store, &repository, times::now()).await?;
    let unusable = backup::set_damaged_aside(&repository)?;
    let id = Some(&*taken.summary.id);
    let pruned = arguments.kept().map(|keep| backup::prune(&repository, keep, id)).transpose()?;
    Ok(Done { taken, unusable, pruned })
}

/// Notes and prints the result. Damage of the repository is always printed; it fails the command if it affects backups.
fn tell(config: &Config, arguments: &Arguments, done: &Done, output: &Output) -> Result<Exit, CliError> {
    let Done { taken, unusable, pruned } = done;
    note(config, arguments, &taken.summary, output);
    output.either(&done.told(), || in_words(&taken.summary, pruned.as_ref()))?;
    if taken.repaired_chunks > 0 {
        output.say(&format!(
            "{} damaged files of the repository were written again: check its disk",
            taken.repaired_chunks
        ));
    }
    for Unusable { path, fault } in unusable {
        output.say(&output.set_off(
            &format!(
                "{fault}: a backup that needs it cannot be restored and is now {}; docs/operating/backup.md#a-damaged-repository",
                path.display()
            ),
            Tone::Bad,
        ));
    }
    Ok(if unusable.is_empty() { Exit::Done } else { Exit::Failed })
}

impl Done {
    fn told(&self) -> Value {
        let mut told = told(&self.taken.summary);
        told["repaired_chunks"] = json!(self.taken.repaired_chunks);
        told["damaged"] = self.unusable.iter().map(|it| json!(it.path)).collect();
        if let Some(pruned) = &self.pruned {
            told["deleted"] = json!(pruned);
        }
        told
    }
}

/// Leaves a note of the backup in the data folder. The backup is valid without the note.
fn note(config: &Config, arguments: &Arguments, taken: &Summary, output: &Output) {
    if let Err(error) = LastBackup::note(&config.data_dir, &arguments.repository, taken) {
        output.say(&format!(
            "{}: {error}: `overnight doctor` does not learn of this backup",
            config.data_dir.display()
        ));
    }
}

pub(super) fn told(backup: &Summary) -> Value {
    json!({
        "id": backup.id, "taken_at_ms": backup.taken_at, "release": backup.release, "schema": backup.schema,
        "bytes": backup.bytes, "new_bytes": backup.new_bytes,
    })
}

fn in_words(backup: &Summary, pruned: Option<&Pruned>) -> String {
    let deleted = match pruned {
        Some(Pruned { backups, bytes, .. }) if *backups > 0 => {
            format!("; deleted {backups} older, {}", size(*bytes))
        }
        _ => String::new(),
    };
    format!("{}: {}, {} stored{deleted}", backup.id, size(backup.bytes), size(backup.new_bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(keep: Option<u32>, keep_days: Option<u32>) -> Option<Keep> {
        Arguments { repository: PathBuf::new(), every: None, keep, keep_days }.kept()
    }

    #[test]
    fn a_repository_in_the_data_folder_or_around_it_is_refused_by_whatever_path() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::create_dir_all(path("data/sub")).unwrap();
        fs::create_dir(path("database")).unwrap();
        std::os::unix::fs::symlink(path("data/sub"), path("link")).unwrap();
        for name in [
            "data",
            "data/new",
            "data/sub/a/b",
            "link",
            "link/new",
            "database/../data/x",
            ".",
            "new/../data/y",
        ] {
            refuse_nested(&path("data"), &path(name)).expect_err(name);
        }
        for name in ["database", "backups", "data/../backups", "link/../../backups", "data-2/new"] {
            refuse_nested(&path("data"), &path(name)).unwrap_or_else(|_| panic!("{name}"));
        }
        refuse_nested(&path("link"), &path("data/sub/x")).expect_err("the data folder by a link");
    }

    #[test]
    fn nothing_is_deleted_unless_it_is_asked_for() {
        assert_eq!(kept(None, None), None);
        assert_eq!(kept(Some(3), None), Some(Keep { newest: 3, days: 0 }));
        assert_eq!(kept(None, Some(7)), Some(Keep { newest: 1, days: 7 }));
        assert_eq!(kept(Some(3), Some(7)), Some(Keep { newest: 3, days: 7 }));
    }

    #[test]
    fn a_backup_is_told_with_what_it_stored_and_deleted() {
        let backup = Summary {
            id: "20261120T211403.512Z".to_owned(),
            taken_at: 1_795_209_243_512,
            release: "0.1.0".to_owned(),
            schema: 28,
            bytes: 12_400_000_000,
            new_bytes: 31_000_000,
        };
        assert_eq!(in_words(&backup, None), "20261120T211403.512Z: 12.4 GB, 31 MB stored");
        let pruned = Pruned { backups: 2, chunks: 9, bytes: 4_000_000 };
        let said = in_words(&backup, Some(&pruned));
        assert_eq!(said, "20261120T211403.512Z: 12.4 GB, 31 MB stored; deleted 2 older, 4 MB");
        let taken = Taken { summary: backup, repaired_chunks: 1 };
        let done = |pruned| Done { taken: taken.clone(), unusable: Vec::new(), pruned };
        assert_eq!(done(Some(pruned)).told()["deleted"]["chunks"], 9);
        assert!(done(None).told().get("deleted").is_none());
    }
}
