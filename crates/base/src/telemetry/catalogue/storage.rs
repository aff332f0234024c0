//! Metrics of the database and its disk.

use metrics::Unit;

use super::MetricKind::{Counter, Gauge};
use super::{Labels, Metric, metric};

pub(super) const METRICS: &[Metric] = &[
    metric(
        "overnight_store_commits_total",
        Counter,
        Unit::Count,
        Labels::None,
        "Transactions committed by the writer; each is one group of writes.",
    ),
    metric(
        "overnight_store_writes_total",
        Counter,
        Unit::Count,
        Labels::None,
        "Writes in these transactions.",
    ),
    metric(
        "overnight_store_writes_waiting",
        Gauge,
        Unit::Count,
        Labels::None,
        "Writes that wait for their group.",
    ),
    metric(
        "overnight_store_retries_total",
        Counter,
        Unit::Count,
        Labels::None,
        "Groups of writes done again after a fault of the database that passes.",
    ),
    metric(
        "overnight_store_damage_total",
        Counter,
        Unit::Count,
        Labels::None,
        "Statements that failed because pages of the database are damaged. Restore a backup.",
    ),
    metric(
        "overnight_store_unanswered_commits_total",
        Counter,
        Unit::Count,
        Labels::None,
        "Commits that the database did not answer: whether they were done was found out afterwards.",
    ),
    metric(
        "overnight_fenced_writes_total",
        Counter,
        Unit::Count,
        Labels::None,
        "Results of attempts that count for nothing: the lease had passed to another attempt.",
    ),
    metric(
        "overnight_store_log_age_seconds",
        Gauge,
        Unit::Seconds,
        Labels::None,
        "Time since SQLite's write-ahead log was last emptied, or the service started: it holds nothing that was deleted before. 0 while it is empty.",
    ),
    metric(
        "overnight_store_log_bytes",
        Gauge,
        Unit::Bytes,
        Labels::None,
        "Size of SQLite's write-ahead log. It grows while another program reads the database in one long transaction.",
    ),
    metric(
        "overnight_disk_free_bytes",
        Gauge,
        Unit::Bytes,
        Labels::None,
        "Bytes free on the disk of the database, with its free pages.",
    ),
    metric(
        "overnight_disk_reserve_bytes",
        Gauge,
        Unit::Bytes,
        Labels::None,
        "Bytes of that disk that creates leave free.",
    ),
    metric(
        "overnight_object_store_operations_total",
        Counter,
        Unit::Count,
        Labels::Of(&["operation", "outcome"]),
        "Calls of the object store (`put`, `get`, `delete`, `list`) by how they ended: `ok`, `missing`, `damaged`, `failed`, or `refused` without a call because it is away.",
    ),
    metric(
        "overnight_object_store_bytes_total",
        Counter,
        Unit::Count,
        Labels::Known("operation", &["put", "get"]),
        "Bytes put into the object store, and read from it.",
    ),
    metric(
        "overnight_objects_deleted_total",
        Counter,
        Unit::Count,
        Labels::Known("reason", &["deleted", "unused"]),
        "Objects deleted because their request was, and because no request ever used them.",
    ),
    metric(
        "overnight_objects_waiting",
        Gauge,
        Unit::Count,
        Labels::None,
        "Objects that are in use by no request: being put, or to be deleted.",
    ),
    metric("overnight_objects_waiting_bytes", Gauge, Unit::Bytes, Labels::None, "Bytes of these objects."),
];
