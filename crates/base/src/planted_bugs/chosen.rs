//! The chosen mistake.

use std::collections::HashMap;
use std::env;
use std::process;
use std::sync::{Mutex, OnceLock, PoisonError};

use super::Bug;

/// Names the mistake. A program that does not know it exits with [`UNKNOWN`], which no failed test does.
const VARIABLE: &str = "PLANTED_BUG";
const UNKNOWN: i32 = 3;

const IN_CODE: [(&str, Bug); 11] = [
    ("ack-before-commit", Bug::AckBeforeCommit),
    ("cancel-lost", Bug::CancelLost),
    ("expiry-by-wall-clock", Bug::ExpiryByWallClock),
    ("address-not-pinned", Bug::AddressNotPinned),
    ("inner-address-called", Bug::InnerAddressCalled),
    ("event-before-end", Bug::EventBeforeEnd),
    ("foreign-id-told-apart", Bug::ForeignIdToldApart),
    ("hold-kept", Bug::HoldKept),
    ("ends-unsorted", Bug::EndsUnsorted),
    ("object-put-late", Bug::ObjectPutLate),
    ("object-row-deleted-first", Bug::ObjectRowDeletedFirst),
];

/// A part of statements, and its replacement.
type Change = (&'static str, &'static str);

/// If the databases have different texts, the first changes are for SQLite.
const IN_STATEMENTS: [(&str, &[Change]); 12] = [
    (
        "no-epoch-check",
        &[
            (
                "SELECT q.seq, q.lease_epoch, q.in_progress_at, q.batch, q.hold",
                "SELECT q.seq, ?6 AS lease_epoch, q.in_progress_at, q.batch, q.hold",
            ),
            (
                "AND q.phase = 1 /* leased */ AND q.lease_epoch = ?6 AND q.node = ?1",
                "AND q.phase = 1 /* leased */ AND q.node = ?1",
            ),
            (
                "AND q.phase = 1 /* leased */ AND q.lease_epoch = v.lease_epoch AND q.node = $1",
                "AND q.phase = 1 /* leased */ AND q.node = $1",
            ),
            (
                "RETURNING q.seq, q.lease_epoch, q.batch, q.lane",
                "RETURNING q.seq, v.lease_epoch, q.batch, q.lane",
            ),
        ],
    ),
    (
        "counter-off-by-one",
        &[(
            "in_progress = ?, completed = ?, failed = ?, cancelled = ?",
            "in_progress = ?, completed = ? + 1, failed = ?, cancelled = ?",
        )],
    ),
    (
        "settled-twice",
        &[
            ("SET balance = balance + ?2, held", "SET balance = balance + 2 * ?2, held"),
            ("SET balance = balance + v.balance_by", "SET balance = balance + 2 * v.balance_by"),
        ],
    ),
    (
        "idempotent-answer-lost",
        &[
            (
                "UPDATE idempotency_keys SET response = ?3",
                "UPDATE idempotency_keys SET response = substr(?3, 1, 0)",
            ),
            (
                "UPDATE idempotency_keys SET response = v.response",
                "UPDATE idempotency_keys SET response = ''::bytea",
            ),
        ],
    ),
    (
        "expiry-too-late",
        &[(
            "deadline <= ? AND state < 3 /* live */ ORDER BY deadline, seq",
            "deadline < ? AND state < 3 /* live */ ORDER BY deadline, seq",
        )],
    ),
    (
        "removed-node-leases",
        &[("FROM nodes n WHERE n.seq = $1 FOR KEY SHARE", "FROM (SELECT $1::bigint AS seq) n")],
    ),
    (
        "leased-twice",
        &[
            ("AND q.phase = 0 /* waiting */ AND b.cancelled_at IS NULL", "AND b.cancelled_at IS NULL"),
            ("AND q.phase = 0 /* waiting */\n                      AND NOT EXISTS", "AND NOT EXISTS"),
        ],
    ),
    (
        "page-loses-a-row",
        &[("WHERE account = ? AND seq > ? AND seq <= ?", "WHERE account = ? AND seq > ? + 1 AND seq <= ?")],
    ),
    ("revoked-key-works", &[("WHERE k.sha256 = ? AND k.revoked_at IS NULL", "WHERE k.sha256 = ?")]),
    (
        "payment-claimed-twice",
        &[("FROM payments WHERE reference = ? AND id <> ?", "FROM payments WHERE reference = ? AND id = ?")],
    ),
    (
        "claimed-object-used",
        &[
            ("WHERE name = ?1 AND state = 0 /* being put */", "WHERE name = ?1"),
            ("WHERE o.name = v.name AND o.state + 0 = 0 /* being put */", "WHERE o.name = v.name"),
        ],
    ),
    ("order-of-arrival", &[("ORDER BY sort_key, seq LIMIT ?", "ORDER BY seq LIMIT ?")]),
];

pub(super) fn in_code() -> Option<Bug> {
    static BUG: OnceLock<Option<Bug>> = OnceLock::new();
    *BUG.get_or_init(|| {
        let name = chosen()?;
        IN_CODE.iter().find(|(it, _)| *it == name).map(|(_, bug)| *bug)
    })
}

/// Plants the chosen mistake in a statement, if it belongs there.
pub fn statement(text: &'static str) -> &'static str {
    static CHANGED: Mutex<Option<HashMap<&'static str, &'static str>>> = Mutex::new(None);
    let Some(changes) = changes() else { return text };
    let mut changed = CHANGED.lock().unwrap_or_else(PoisonError::into_inner);
    changed.get_or_insert_default().entry(text).or_insert_with(|| change(text, changes))
}

fn change(text: &'static str, changes: &[Change]) -> &'static str {
    if !changes.iter().any(|(part, _)| text.contains(part)) {
        return text;
    }
    changes.iter().fold(text.to_owned(), |text, (part, instead)| text.replace(part, instead)).leak()
}

fn changes() -> Option<&'static [Change]> {
    static CHANGES: OnceLock<Option<&'static [Change]>> = OnceLock::new();
    *CHANGES.get_or_init(|| {
        let name = chosen()?;
        IN_STATEMENTS.iter().find(|(it, _)| *it == name).map(|(_, changes)| *changes)
    })
}

fn chosen() -> Option<String> {
    let name = env::var(VARIABLE).ok()?;
    let mut names = IN_CODE.iter().map(|(it, _)| *it).chain(IN_STATEMENTS.iter().map(|(it, _)| *it));
    if names.all(|it| it != name) {
        process::exit(UNKNOWN);
    }
    Some(name)
}

pub fn changed_parts() -> impl Iterator<Item = &'static str> {
    IN_STATEMENTS.iter().flat_map(|(_, changes)| changes.iter().map(|(part, _)| *part))
}
