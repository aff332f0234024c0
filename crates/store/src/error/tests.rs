use rusqlite::ffi::{
    Error, SQLITE_BUSY, SQLITE_CANTOPEN, SQLITE_CONSTRAINT, SQLITE_CORRUPT, SQLITE_FULL, SQLITE_IOERR_FSYNC,
    SQLITE_IOERR_READ, SQLITE_IOERR_WRITE, SQLITE_MISUSE, SQLITE_NOMEM, SQLITE_NOTADB, SQLITE_READONLY,
    SQLITE_READONLY_DBMOVED, SQLITE_TOOBIG,
};

use super::*;

fn sqlite(code: i32) -> StoreError {
    rusqlite::Error::SqliteFailure(Error::new(code), None).into()
}

fn postgres(error: PostgresError) -> StoreError {
    StoreError::Database(DatabaseError::Postgres(error))
}

fn broken() -> std::io::Error {
    std::io::Error::other("broken pipe")
}

/// Faults of the connection to a server, each with a part of its message.
fn faults_of_the_way() -> [(StoreError, &'static str); 7] {
    let text = String::new;
    [
        (StoreError::Pooled, "pooler"),
        (StoreError::Certificate { parameter: "sslcert", path: text(), fault: text() }, "a file"),
        (StoreError::Secret { setting: "database_url", path: text(), fault: text() }, "a file"),
        (StoreError::Tls(text()), "TLS"),
        (postgres(PostgresError::Io(broken())), "does not answer"),
        (postgres(PostgresError::Tls("no".into())), "does not answer"),
        (postgres(PostgresError::Protocol("half a message".into())), "does not answer"),
    ]
}

#[test]
fn outage_is_told_to_everybody_and_passes_and_is_no_damage() {
    let others = [
        (StoreError::Lacking { why: "no table", said: String::new() }, "no table"),
        (StoreError::Thread { name: "reader", source: broken() }, "thread"),
        (KeyringError::NoFolder.into(), "keys"),
        (ObjectStoreError::NotCalled.into(), "object store"),
        (sqlite(SQLITE_BUSY), "locks"),
    ];
    for (error, part) in faults_of_the_way().into_iter().chain(others) {
        assert!(error.outage().is_some_and(|why| why.contains(part)), "{error:?}: {:?}", error.outage());
        assert!(error.is_passing() && !error.is_damage(), "{error:?}");
    }
}

#[test]
fn damage_is_told_from_other_faults_and_neither_passes() {
    for (error, is_damage) in [
        (StoreError::DamagedPages(String::new()), true),
        (StoreError::DamagedColumn("body"), true),
        (sqlite(SQLITE_CORRUPT), true),
        (sqlite(SQLITE_NOTADB), true),
        (StoreError::Refused(String::new()), false),
        (ObjectStoreError::Missing(String::new()).into(), false),
        (postgres(PostgresError::RowNotFound), false),
        (sqlite(SQLITE_CONSTRAINT), false),
    ] {
        assert_eq!((error.is_damage(), error.is_passing()), (is_damage, false), "{error:?}");
    }
}

#[test]
fn each_error_of_sqlite_is_refused_retried_or_ends_the_process() {
    for (codes, trouble) in [
        (&[SQLITE_CONSTRAINT, SQLITE_TOOBIG, SQLITE_CORRUPT, SQLITE_NOTADB][..], Trouble::Constraint),
        (
            &[SQLITE_BUSY, SQLITE_FULL, SQLITE_IOERR_WRITE, SQLITE_READONLY, SQLITE_CANTOPEN, SQLITE_NOMEM],
            Trouble::Refusing,
        ),
        (&[SQLITE_IOERR_READ, SQLITE_READONLY_DBMOVED, SQLITE_MISUSE], Trouble::Fatal),
    ] {
        for code in codes {
            assert_eq!(sqlite(*code).trouble(), trouble, "{code}");
        }
    }
}

#[test]
fn a_disk_that_failed_is_told_from_a_database_that_refuses() {
    let is_disk_failure = |code| sqlite(code).is_disk_failure();
    assert!([SQLITE_IOERR_FSYNC, SQLITE_IOERR_READ].map(is_disk_failure).iter().all(|it| *it));
    let others = [SQLITE_FULL, SQLITE_IOERR_WRITE, SQLITE_BUSY, SQLITE_CONSTRAINT, SQLITE_CORRUPT]
        .map(is_disk_failure);
    assert!(!others.iter().any(|it| *it));
}

#[test]
fn each_error_of_postgresql_is_retried_awaited_or_refused() {
    for (codes, trouble) in [
        (&["40001", "40P01", "55P03"][..], Trouble::Again),
        (&["25006", "25P02", "25P03", "08006", "53300", "57P01", "58030"], Trouble::Refusing),
        (&["28P01", "28000", "3D000", "25P04", "F0000"], Trouble::Refusing),
        (&["23505", "22001", "42501", "25001", "40002", "55000"], Trouble::Constraint),
    ] {
        for code in codes {
            assert_eq!(trouble_of_postgres(code), trouble, "{code}");
        }
    }
}

#[test]
fn a_server_that_cannot_be_reached_is_waited_for_and_what_is_not_understood_is_told() {
    for (error, _) in faults_of_the_way() {
        assert_eq!(error.trouble(), Trouble::Refusing, "{error:?}");
    }
    assert_eq!(postgres(PostgresError::RowNotFound).trouble(), Trouble::Fatal);
    assert_eq!(postgres(PostgresError::ColumnNotFound("seq".into())).trouble(), Trouble::Fatal);
    assert_eq!(StoreError::Refused(String::new()).trouble(), Trouble::Constraint);
    assert_eq!(StoreError::Damaged("a row").trouble(), Trouble::Fatal);
}
