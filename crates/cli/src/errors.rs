//! Errors of commands, and the exit codes by which scripts distinguish outcomes.

use std::fmt::Display;
use std::io;
use std::path::Path;
use std::process::ExitCode;

use overnight_app::errors::AppError;
use overnight_base::encryption::KeyringError;
use overnight_base::file_owner::owner_of_denied;
use overnight_base::supervision::{EXIT_IO_ERROR, EXIT_SOFTWARE, Failure, Fault};
use overnight_client::Error as ClientError;
use overnight_config::ConfigError;
use overnight_server::service::ServiceError;
use overnight_store::StoreError;
use overnight_store::object_store::ObjectStoreError;
use overnight_store::operations::backup::BackupError;
use overnight_store::operations::transfer::ImportError;
use overnight_store::operations::vacuum::VacuumError;

/// The exit codes, as `--help` and `docs/cli.md` list them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    Done = 0,
    /// The command was carried out, but a part of its outcome is a failure.
    Failed = 1,
    /// The command line, the settings or a file cannot be used.
    Unusable = 2,
    Refused = 3,
    /// The service or its store cannot be reached or is not ready.
    Unavailable = 4,
    /// A loop of the service failed; the process must be restarted.
    Broken = EXIT_SOFTWARE as isize,
    /// A file of the store was removed or replaced under the service.
    FilesGone = EXIT_IO_ERROR as isize,
    /// Ctrl-C, SIGTERM or SIGQUIT.
    Interrupted = 130,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// A failure in one sentence, with advice.
#[derive(Debug)]
pub(crate) struct CliError {
    message: String,
    hint: Option<String>,
    exit: Exit,
    trouble: Option<Trouble>,
}

/// Trouble with the service that a command calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// There is no answer from its address.
    Unreachable,
    UnknownKey,
}

impl CliError {
    fn new(exit: Exit, message: impl Display) -> Self {
        Self { message: message.to_string(), hint: None, exit, trouble: None }
    }

    /// The command line, the settings or a file cannot be used.
    pub(crate) fn unusable(message: impl Display) -> Self {
        Self::new(Exit::Unusable, message)
    }

    pub(crate) fn refused(message: impl Display) -> Self {
        Self::new(Exit::Refused, message)
    }

    pub(crate) fn broken(failure: &Failure) -> Self {
        let message = format!("the service failed: {failure}");
        if failure.exit_code() == EXIT_IO_ERROR {
            return Self::new(Exit::FilesGone, message)
                .with_hint("put the file back, or restore a backup, and start the service again: docs/operating/data-folder.md");
        }
        if matches!(failure.fault, Fault::NotStarted(_)) {
            return Self::no_threads(message);
        }
        Self::new(Exit::Broken, message).with_hint(
            "start it again: accepted requests are kept. Report the lines of its log before this one",
        )
    }

    pub(crate) fn no_threads(error: impl Display) -> Self {
        Self::new(Exit::Broken, error).with_hint(
            "raise the limit of tasks, `TasksMax` of systemd, `pids.max` of a container or `ulimit -u`, and start it again",
        )
    }

    pub(crate) fn unavailable(message: impl Display) -> Self {
        Self::new(Exit::Unavailable, message)
    }

    pub(crate) fn interrupted(message: impl Display) -> Self {
        Self::new(Exit::Interrupted, message)
    }

    pub(crate) fn file(path: &Path, error: &io::Error) -> Self {
        let message = format!("{}: {error}{}", path.display(), owner_of_denied(path, error));
        match may_pass(error) {
            true => Self::unavailable(message),
            false => Self::unusable(message),
        }
    }

    pub(crate) fn stdin(error: &io::Error) -> Self {
        Self::unusable(format!("standard input: {error}"))
    }

    /// The cost may exceed the limit.
    pub(crate) fn too_costly(message: impl Display) -> Self {
        Self::new(Exit::Failed, message)
    }

    /// The result cannot be written to standard output. If its reader has left, there is no message.
    pub(crate) fn stdout(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::new(Exit::Done, ""),
            _ => Self::unusable(format!("standard output: {error}")),
        }
    }

    /// Adds this advice, unless there is some already.
    #[must_use]
    pub(crate) fn with_hint(mut self, hint: impl Display) -> Self {
        self.hint.get_or_insert_with(|| hint.to_string());
        self
    }

    /// Replaces the advice.
    #[must_use]
    pub(crate) fn with_better_hint(self, hint: String) -> Self {
        Self { hint: Some(hint), ..self }
    }

    /// The trouble with the called service, if that is the reason.
    pub(crate) const fn trouble(&self) -> Option<Trouble> {
        self.trouble
    }

    fn of_trouble(self, trouble: Trouble) -> Self {
        Self { trouble: Some(trouble), ..self }
    }

    /// The sentence; empty if there is none to print.
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    pub(crate) fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    pub(crate) const fn exit(&self) -> Exit {
        self.exit
    }
}

impl From<ClientError> for CliError {
    fn from(error: ClientError) -> Self {
        match &error {
            ClientError::Api { status: 401, .. } => Self::refused(&error)
                .of_trouble(Trouble::UnknownKey)
                .with_hint("set OVERNIGHT_API_KEY to a key that `overnight key create` made"),
            ClientError::Api { status: 402, error: body, .. } => {
                Self::refused(&error).with_hint(match body.code.as_str() {
                    "payments_not_activated" => "the operator activates them: `overnight account activate ACCOUNT`",
                    _ => {
                        "the operator grants credits: `overnight account grant ACCOUNT AMOUNT`; what a file costs says \
                         `overnight submit --dry-run`; then the same command goes on"
                    }
                })
            }
            ClientError::Api { status: 429 | 500.., .. }
            | ClientError::Foreign { status: 429 | 500.., .. } => Self::unavailable(&error),
            ClientError::Foreign { status: 413, .. } => {
                Self::refused("a proxy in front of the service refuses a body of this length (HTTP 413)")
                    .with_hint("raise its limit of bodies, in nginx `client_max_body_size`: docs/operating/proxies.md")
            }
            ClientError::Api { .. } | ClientError::Foreign { .. } => Self::refused(&error),
            ClientError::Transport(_) if error.to_string().contains("certificate") => {
                Self::unavailable(&error).with_hint("set SSL_CERT_FILE to a file with the authority of its certificate")
            }
            ClientError::Transport(cause) if cause.is_connect() => Self::unavailable(&error)
                .of_trouble(Trouble::Unreachable)
                .with_hint("start it with `overnight serve`, or say where it is with --url or OVERNIGHT_URL"),
            ClientError::Invalid(_) => Self::unusable(&error),
            _ => Self::unavailable(&error),
        }
    }
}

/// Whether a file may be usable later without a change of the call: a full disk, a used-up quota or limit of open files, a disk with errors.
fn may_pass(error: &io::Error) -> bool {
    use rustix::io::Errno;
    const PASSING: [Errno; 5] = [Errno::NOSPC, Errno::DQUOT, Errno::MFILE, Errno::NFILE, Errno::IO];
    error.raw_os_error().is_some_and(|code| PASSING.iter().any(|errno| errno.raw_os_error() == code))
}

impl From<VacuumError> for CliError {
    fn from(error: VacuumError) -> Self {
        match error {
            VacuumError::Store(error) => error.into(),
            VacuumError::OnServer => {
                Self::unusable(error).with_hint("`VACUUM FULL` in psql gives its space back to the system")
            }
            VacuumError::Absent { .. } => Self::unusable(error).with_hint("say where it is with --data-dir"),
            VacuumError::NoRoom { .. } => Self::unusable(error),
        }
    }
}

impl From<ConfigError> for CliError {
    fn from(error: ConfigError) -> Self {
        Self::unusable(error)
    }
}

impl From<StoreError> for CliError {
    fn from(error: StoreError) -> Self {
        match error {
            error if error.is_damage() => Self::new(Exit::Failed, error).with_hint(
                "keep a copy of it as it is, and restore the last backup: docs/operating/backup.md#a-damaged-database",
            ),
            StoreError::File { ref source, .. } if may_pass(source) => Self::unavailable(error),
            StoreError::OtherSchema(_) => Self::new(Exit::Failed, error)
                .with_hint("undo the change with sqlite3, or restore the last backup if you did not expect it"),
            StoreError::File { .. }
            | StoreError::Encoding(_)
            | StoreError::Outdated { .. }
            | StoreError::Unreleased { .. }
            | StoreError::Foreign { .. }
            | StoreError::Lost { .. }
            | StoreError::OtherInstallation { .. }
            | StoreError::Certificate { .. }
            | StoreError::Secret { .. }
            | StoreError::Url(_)
            | StoreError::Encryption(
                KeyringError::NoFolder
                | KeyringError::Missing { .. }
                | KeyringError::NotAKey { .. }
                | KeyringError::File { .. },
            )
            | StoreError::ObjectStore(ObjectStoreError::Settings(_) | ObjectStoreError::NotNamed) => {
                Self::unusable(error)
            }
            StoreError::Thread { .. } => Self::no_threads(error),
            StoreError::Exposed(exposure) => {
                let hint = exposure.advice();
                Self::unusable(StoreError::Exposed(exposure)).with_hint(hint)
            }
            _ => Self::unavailable(error),
        }
    }
}

impl From<ImportError> for CliError {
    fn from(error: ImportError) -> Self {
        match error {
            ImportError::NotEmpty { .. } => Self::unusable(error).with_hint(
                "name another store with --data-dir or --database-url; the import makes a folder's",
            ),
            ImportError::Served { .. } => Self::unavailable(error),
            ImportError::Unsound { .. } => Self::new(Exit::Failed, error)
                .with_hint("run `overnight audit` on the store that was exported, and report what it says"),
            ImportError::Store(inner) => inner.into(),
            _ => Self::unusable(error),
        }
    }
}

impl From<BackupError> for CliError {
    fn from(error: BackupError) -> Self {
        match error {
            BackupError::Store(inner) => inner.into(),
            BackupError::OnServer => Self::unusable(error).with_hint(
                "use pg_dump, or pg_basebackup and an archive of its log: docs/operating/backup.md has the steps",
            ),
            BackupError::InUse { .. } => Self::unavailable(error),
            error if error.is_full_disk() => Self::unusable(error)
                .with_hint("no backup was deleted for it; make room on that disk: docs/operating/backup.md#a-full-disk"),
            BackupError::Unknown { .. } => {
                Self::unusable(error).with_hint("`overnight restore REPOSITORY --list` shows those that it holds")
            }
            BackupError::MissingChunk { .. } | BackupError::DamagedChunk { .. } | BackupError::Manifest { .. } => {
                Self::unusable(error).with_hint(
                    "take the file from a copy of the repository, or restore another backup: --backup names it",
                )
            }
            BackupError::Occupied { .. } => Self::unusable(error)
                .with_hint("name another folder with --data-dir, or move the database away first, with its -wal and -shm"),
            BackupError::Unsound { .. } => Self::new(Exit::Failed, error).with_hint(
                "restore an older backup, or see what is broken: --allow-breaches makes the folder all the same, and \
                 `overnight audit` tells of it",
            ),
            BackupError::DamagedDatabase { .. } => Self::new(Exit::Failed, error).with_hint("restore an older backup"),
            _ => Self::unusable(error),
        }
    }
}

impl From<AppError> for CliError {
    fn from(error: AppError) -> Self {
        match error {
            AppError::Invalid(_) => Self::unusable(error),
            AppError::Unavailable(_) => Self::unavailable(error),
            // Only operators' commands get these errors, so the cause is shown.
            AppError::Internal(cause) | AppError::StoreAway { cause, advice: None } => cause.into(),
            AppError::StoreAway { cause, advice: Some(advice) } => Self::from(cause).with_hint(advice),
            _ => Self::refused(error),
        }
    }
}

impl From<ServiceError> for CliError {
    fn from(error: ServiceError) -> Self {
        match error {
            ServiceError::Store(inner) => inner.into(),
            ServiceError::Bootstrap(inner) => inner.into(),
            _ => Self::unusable(error),
        }
    }
}
