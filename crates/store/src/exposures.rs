//! Who else can use the data folder: its files hold prompts, keys and webhook secrets, and are for their owner only. Without file modes
//! (not Unix), no exposure is found and no mode changed.

use std::fmt;
use std::path::{Path, PathBuf};

#[cfg(unix)]
const PRIVATE_FOLDER: u32 = 0o700;
#[cfg(unix)]
const PRIVATE_FILE: u32 = 0o600;

/// Prefixes of the names of our files.
#[cfg(unix)]
const OWN_FILES: [&str; 5] = ["overnight", "api-key", "serve.json", "run.log", "last-backup.json"];
/// Folders that may be there: the included model, large bodies (docs/operating/object-store.md), an unfinished restore, and a file system's
/// own.
#[cfg(unix)]
const OWN_FOLDERS: [&str; 4] = ["models", "objects", "restoring", "lost+found"];

/// A data folder, or a file in it, that others can use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exposure {
    pub path: PathBuf,
    /// Permission bits, and the sticky bit.
    pub found: u32,
    pub expected: u32,
    /// Whether every user of this machine, not only a group, can read or replace stored data.
    pub is_public: bool,
}

impl Exposure {
    /// The command that corrects the mode.
    pub fn correction(&self) -> String {
        format!("chmod {:o} {}", self.expected, self.path.display())
    }

    /// What to do, for the operator. Some volumes have folders whose mode cannot be changed.
    pub fn advice(&self) -> String {
        let run = format!("run `{}`", self.correction());
        if !self.is_folder() {
            return run;
        }
        let within = self.path.join("private");
        let within = within.display();
        format!(
            "{run}; where a volume does not allow that, keep the data: make a folder in it (`mkdir -m 700 {within}`), move the files of \
             Overnight into it, and use --data-dir {within}; a volume with fixed modes, such as CIFS, needs the mount options \
             dir_mode=0700,file_mode=0600"
        )
    }

    /// Whoever uses a folder enters it.
    fn is_folder(&self) -> bool {
        self.expected & 0o100 != 0
    }
}

impl fmt::Display for Exposure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} has mode {:04o} and should have {:04o}", self.path.display(), self.found, self.expected)
    }
}

/// Present exposures: first the folder, then its files by name.
pub fn exposures(folder: &Path) -> Vec<Exposure> {
    #[cfg(unix)]
    return unix::look(folder).exposures;
    #[cfg(not(unix))]
    {
        _ = folder;
        Vec::new()
    }
}

/// Removes others' access to files that this process's user owns; returns the remaining exposures. A folder with other files keeps its
/// mode.
pub(super) fn narrow(folder: &Path) -> Vec<Exposure> {
    #[cfg(unix)]
    unix::narrow(folder);
    exposures(folder)
}

#[cfg(unix)]
mod unix {
    use std::fs::{self, DirEntry, Metadata, Permissions};
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    use std::path::Path;

    use super::{Exposure, OWN_FILES, OWN_FOLDERS, PRIVATE_FILE, PRIVATE_FOLDER};

    const MODE: u32 = 0o1777;
    const OTHERS: u32 = 0o077;
    const EVERYONE_READS_OR_WRITES: u32 = 0o006;
    const EVERYONE_WRITES: u32 = 0o002;
    const EVERYONE_ENTERS: u32 = 0o001;

    pub(super) struct Look {
        pub(super) exposures: Vec<Exposure>,
        holds_only_ours: bool,
    }

    pub(super) fn look(folder: &Path) -> Look {
        let mut look = Look { exposures: Vec::new(), holds_only_ours: true };
        let Ok(found) = fs::metadata(folder) else { return look };
        let mode = found.mode() & MODE;
        let is_entered = mode & EVERYONE_ENTERS != 0;
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            match own_file(&entry) {
                Some(file) => {
                    let found = file.mode() & MODE;
                    let is_public = is_entered && found & EVERYONE_READS_OR_WRITES != 0;
                    look.exposures.extend(exposure(&entry.path(), found, PRIVATE_FILE, is_public));
                }
                None => look.holds_only_ours &= is_own_folder(&entry),
            }
        }
        look.exposures.sort_by(|one, other| one.path.cmp(&other.path));
        let is_public = mode & EVERYONE_WRITES != 0;
        look.exposures.splice(0..0, exposure(folder, mode, PRIVATE_FOLDER, is_public));
        look
    }

    fn exposure(path: &Path, found: u32, expected: u32, is_public: bool) -> Option<Exposure> {
        let is_exposed = found & OTHERS != 0;
        is_exposed.then(|| Exposure { path: path.to_owned(), found, expected, is_public })
    }

    /// A regular file of ours, not a link, which may lead anywhere.
    fn own_file(entry: &DirEntry) -> Option<Metadata> {
        let name = entry.file_name();
        let is_ours = OWN_FILES.iter().any(|own| name.as_encoded_bytes().starts_with(own.as_bytes()));
        entry.metadata().ok().filter(|found| is_ours && found.is_file())
    }

    fn is_own_folder(entry: &DirEntry) -> bool {
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        is_folder && OWN_FOLDERS.iter().any(|own| entry.file_name() == *own)
    }

    pub(super) fn narrow(folder: &Path) {
        let user = rustix::process::geteuid().as_raw();
        let Look { exposures, holds_only_ours } = look(folder);
        for exposure in exposures {
            let may_change = exposure.path != folder || holds_only_ours;
            let is_owned = fs::metadata(&exposure.path).is_ok_and(|found| found.uid() == user);
            let mode = Permissions::from_mode(exposure.expected);
            // If this fails, the exposure is found again.
            if may_change && is_owned && fs::set_permissions(&exposure.path, mode).is_ok() {
                tracing::warn!("{exposure}: others may have used it until now; its mode is corrected");
            }
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    use tempfile::TempDir;

    use super::*;

    fn folder(mode: u32, files: &[(&str, u32)]) -> TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, mode) in files {
            fs::write(folder.path().join(name), "a secret").expect("a file");
            fs::set_permissions(folder.path().join(name), Permissions::from_mode(*mode)).expect("a mode");
        }
        fs::set_permissions(folder.path(), Permissions::from_mode(mode)).expect("a mode");
        folder
    }

    fn mode(folder: &TempDir, name: &str) -> u32 {
        fs::metadata(folder.path().join(name)).expect(name).permissions().mode() & 0o7777
    }

    #[test]
    fn what_others_can_use_is_named_with_its_mode_and_its_correction() {
        let folder = folder(
            0o755,
            &[("overnight.db", 0o644), ("api-key", 0o600), ("run.log", 0o640), ("other", 0o644)],
        );
        let path = folder.path().display();
        let found = exposures(folder.path());
        let told: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert_eq!(
            told,
            [
                format!("{path} has mode 0755 and should have 0700"),
                format!("{path}/overnight.db has mode 0644 and should have 0600"),
                format!("{path}/run.log has mode 0640 and should have 0600"),
            ]
        );
        assert_eq!(found.iter().map(|it| it.is_public).collect::<Vec<_>>(), [false, true, false]);
        assert_eq!(found[1].correction(), format!("chmod 600 {path}/overnight.db"));
        assert_eq!(found[1].advice(), format!("run `chmod 600 {path}/overnight.db`"));
        let advice = found[0].advice();
        for part in [
            format!("run `chmod 700 {path}`"),
            format!("mkdir -m 700 {path}/private"),
            format!("--data-dir {path}/private"),
        ] {
            assert!(advice.contains(&part), "{advice}");
        }
    }

    #[test]
    fn nobody_reads_a_file_in_a_folder_that_only_its_group_enters() {
        let folder = folder(0o750, &[("overnight.db", 0o644)]);
        assert!(exposures(folder.path()).iter().all(|it| !it.is_public));
    }

    #[test]
    fn a_folder_of_ours_is_narrowed_with_its_files() {
        let folder = folder(0o777, &[("overnight.db-wal", 0o666), ("api-key", 0o644), ("serve.json", 0o604)]);
        fs::create_dir(folder.path().join("models")).unwrap();
        assert_eq!(narrow(folder.path()), []);
        assert_eq!(
            ["", "overnight.db-wal", "api-key", "serve.json"].map(|name| mode(&folder, name)),
            [0o700, 0o600, 0o600, 0o600]
        );
    }

    #[test]
    fn a_folder_of_somebody_elses_files_keeps_its_mode_and_ours_are_narrowed() {
        let folder = folder(0o755, &[("overnight.db", 0o644), ("thesis.txt", 0o644)]);
        let left = narrow(folder.path());
        assert!(matches!(&left[..], [only] if only.path == folder.path() && !only.is_public), "{left:?}");
        assert_eq!(["", "overnight.db", "thesis.txt"].map(|name| mode(&folder, name)), [0o755, 0o600, 0o644]);
    }

    #[test]
    fn a_folder_keeps_its_mode_for_another_folder_in_it_and_for_a_file_with_the_name_of_ours() {
        for is_file in [false, true] {
            let folder = folder(0o755, if is_file { &[("models", 0o644)] } else { &[] });
            if !is_file {
                fs::create_dir(folder.path().join("thesis")).expect("a folder");
            }
            assert_eq!(narrow(folder.path()).len(), 1);
            assert_eq!(mode(&folder, ""), 0o755);
        }
    }

    #[test]
    fn a_folder_that_everyone_writes_to_is_public_though_its_files_are_not() {
        let folder = folder(0o1777, &[("overnight.db", 0o600), ("thesis.txt", 0o644)]);
        let left = narrow(folder.path());
        assert!(matches!(&left[..], [only] if only.found == 0o1777 && only.is_public), "{left:?}");
    }

    #[test]
    fn a_link_is_not_followed() {
        let folder = folder(0o700, &[("thesis.txt", 0o644)]);
        std::os::unix::fs::symlink("thesis.txt", folder.path().join("api-key")).unwrap();
        assert_eq!(narrow(folder.path()), []);
        assert_eq!(mode(&folder, "thesis.txt"), 0o644);
    }
}
