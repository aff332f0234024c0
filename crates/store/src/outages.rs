//! Why a database is unavailable. `/readyz`, the API and the writer ask here, so that all give the same reason. Damage is not an outage: it
//! does not pass by itself.

use rusqlite::ErrorCode;
use rusqlite::ffi::{SQLITE_IOERR_WRITE, SQLITE_READONLY_DBMOVED};
use sqlx::Error as PostgresError;

use crate::postgres_words::said;

/// The server, or the connection to it, is gone.
pub(super) const UNREACHABLE: &str = "the database does not answer";
const DENIED: &str = "access to the database file is denied";
const MISSING: &str = "the database, or a table of it, does not exist";
const REFUSED: &str = "the database rejects the role or the password of the service";

/// By its primary result code (<https://sqlite.org/rescode.html>).
pub(super) fn of_sqlite(error: &rusqlite::Error) -> Option<&'static str> {
    let rusqlite::Error::SqliteFailure(failure, _) = error else { return None };
    match failure.code {
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::FileLockingProtocolFailed => {
            Some("another process locks the database")
        }
        ErrorCode::DiskFull => Some("the disk of the database is full"),
        ErrorCode::ReadOnly if failure.extended_code == SQLITE_READONLY_DBMOVED => None,
        ErrorCode::ReadOnly => Some("the database file, its folder or its disk is read-only"),
        ErrorCode::SystemIoFailure if failure.extended_code == SQLITE_IOERR_WRITE => {
            Some("the disk of the database takes no writes: it reports errors, or a quota is used up")
        }
        ErrorCode::SystemIoFailure => Some("the disk of the database reports errors"),
        ErrorCode::CannotOpen => Some("the database file cannot be opened"),
        ErrorCode::PermissionDenied | ErrorCode::AuthorizationForStatementDenied => Some(DENIED),
        ErrorCode::OutOfMemory => Some("the machine has no memory left for the database"),
        _ => None,
    }
}

/// By the server's error, or its silence.
pub(super) fn of_postgres(error: &PostgresError) -> Option<&'static str> {
    match said(error) {
        Some(said) => of_sqlstate(said.code()),
        None => is_connection_error(error).then_some(UNREACHABLE),
    }
}

/// Whether the connection to the server failed, not the server.
pub(super) const fn is_connection_error(error: &PostgresError) -> bool {
    matches!(error, PostgresError::Io(_) | PostgresError::Tls(_) | PostgresError::Protocol(_))
}

/// By its SQLSTATE (<https://www.postgresql.org/docs/current/errcodes-appendix.html>), and by those of poolers. No client input makes a
/// server send one of these.
fn of_sqlstate(code: &str) -> Option<&'static str> {
    Some(match code {
        "3D000" | "3F000" | "42P01" | "57P04" => MISSING,
        "42501" => "the role of the service lacks a right in the database",
        "25006" => "the database accepts no writes: it is read-only",
        // Also sent by a database that accepts no connections.
        "55000" => "the database accepts no connections or is not ready",
        "40001" | "40P01" | "55P03" => "others write the same rows of the database",
        "53100" => "the disk of the database is full",
        "53200" => "the database has no memory left",
        "53300" => "the database has no connection left",
        "57P01" | "57P02" | "57P03" => "the database is starting or stopping",
        "XX000" => "the database, or a pooler before it, reports an internal error",
        _ if code.starts_with("28") => REFUSED,
        _ if code.starts_with("08") || code.starts_with("25P") => "the connection to the database was lost",
        _ if code.starts_with("53") => "the database has reached one of its limits",
        _ if code.starts_with("57") => "the database interrupts what it is asked",
        _ if code.starts_with("58") || code.starts_with("F0") => "the database has trouble with its machine",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use rusqlite::ffi::{self, Error};

    use super::*;

    #[test]
    fn a_server_that_is_not_available_is_told_by_its_code_and_everything_else_is_no_outage() {
        for (codes, part) in [
            (&["28000", "28P01"][..], "password"),
            (&["3D000", "3F000", "42P01", "57P04"], "does not exist"),
            (&["57P01", "57P02", "57P03"], "starting or stopping"),
            (&["53100"], "disk"),
            (&["53200"], "memory"),
            (&["53300"], "no connection left"),
            (&["53000", "53400"], "limits"),
            (&["08000", "08001", "08003", "08004", "08006", "08P01", "25P02", "25P03", "25P04"], "lost"),
            (&["57000", "57014", "57P05"], "interrupts"),
            (&["25006"], "read-only"),
            (&["42501"], "lacks a right"),
            (&["55000"], "no connections"),
            (&["58000", "58030", "58P01", "F0000"], "machine"),
            (&["XX000"], "pooler"),
        ] {
            for code in codes {
                assert!(of_sqlstate(code).is_some_and(|why| why.contains(part)), "{code}");
            }
        }
        for code in ["XX001", "XX002", "23505", "22001", "40002", "42601", "42703", "25001", "00000", ""] {
            assert_eq!(of_sqlstate(code), None, "{code}");
        }
    }

    #[test]
    fn a_file_that_cannot_be_used_is_an_outage_and_damage_is_none() {
        let of = |code| of_sqlite(&rusqlite::Error::SqliteFailure(Error::new(code), None));
        for (code, part) in [
            (ffi::SQLITE_BUSY, "locks"),
            (ffi::SQLITE_BUSY_SNAPSHOT, "locks"),
            (ffi::SQLITE_LOCKED, "locks"),
            (ffi::SQLITE_PROTOCOL, "locks"),
            (ffi::SQLITE_FULL, "full"),
            (ffi::SQLITE_READONLY, "read-only"),
            (ffi::SQLITE_READONLY_DIRECTORY, "read-only"),
            (ffi::SQLITE_READONLY_CANTINIT, "read-only"),
            (ffi::SQLITE_IOERR_READ, "errors"),
            (SQLITE_IOERR_WRITE, "quota"),
            (ffi::SQLITE_CANTOPEN, "opened"),
            (ffi::SQLITE_PERM, "denied"),
            (ffi::SQLITE_AUTH, "denied"),
            (ffi::SQLITE_NOMEM, "memory"),
        ] {
            assert!(of(code).is_some_and(|why| why.contains(part)), "{code}");
        }
        for code in [
            ffi::SQLITE_CORRUPT,
            ffi::SQLITE_NOTADB,
            ffi::SQLITE_CONSTRAINT,
            ffi::SQLITE_ERROR,
            SQLITE_READONLY_DBMOVED,
        ] {
            assert_eq!(of(code), None, "{code}");
        }
    }
}
