//! What several tests of the store name.

pub(super) use bytes::Bytes;
pub(super) use futures_util::FutureExt;
pub(super) use futures_util::future::join_all;
pub(super) use overnight_base::clock::{ManualClock, SystemClock};
pub(super) use overnight_base::encryption::is_marked;
pub(super) use overnight_domain::api_keys::KeyScope;
pub(super) use overnight_domain::audit_log::AuditAction;
pub(super) use overnight_domain::batches::{BatchStatus, Counters};
pub(super) use overnight_domain::files::{BatchEndpoint, FileRecord};
pub(super) use overnight_domain::ids::{AccountId, BatchId, EventId, FileId, KeyId, PaymentId, RequestId};
pub(super) use overnight_domain::money::{Credits, EntryKind};
pub(super) use overnight_domain::quotas::{Quota, Quotas};
pub(super) use overnight_domain::records::{
    BatchRecord, ClientFields, FailedAttempt, RequestRecord, RequestSummary,
};
pub(super) use overnight_domain::requests::RequestStatus;
pub(super) use overnight_domain::roles::Role;
pub(super) use overnight_domain::scheduler::{
    AccountKey, Lease, ModelKey, Position, QueuePartition, ReplicaKey,
};
pub(super) use overnight_domain::sort_key::SortKey;
pub(super) use overnight_domain::webhooks::EventKind;
pub(super) use overnight_domain::webhooks::signature::SigningSecret;
pub(super) use overnight_testkit::postgres::Cluster;
pub(super) use sha2::{Digest, Sha256};
pub(super) use std::collections::{BTreeMap, BTreeSet};
pub(super) use std::fs;
pub(super) use std::path::{Path, PathBuf};
pub(super) use std::pin::pin;
pub(super) use std::sync::Arc;
pub(super) use std::sync::atomic::Ordering;
pub(super) use std::time::Duration;
pub(super) use tempfile::TempDir;

pub(super) use crate::audit_log::{Filter, Place, bounds};
pub(super) use crate::batches::{
    CancelBatchOutcome, FillLine, FillStep, Filled, Filling, Membership, NewBatch, NewBatchOutcome,
};
pub(super) use crate::database::{Actor, ActorId, Connection, Dialect, Row, Sql, Statement, Tx, sql};
pub(super) use crate::files::{Appended, FinishedFile, NewFile};
pub(super) use crate::idempotency_keys::{Guard, Guarded, IdempotencyKey, Recalled};
pub(super) use crate::identity::accounts::LowCredits;
pub(super) use crate::identity::api_keys::NewApiKey;
pub(super) use crate::identity::sessions::Session;
pub(super) use crate::identity::sign_in_failures::{Counting, Failures, Forgiveness, Try};
pub(super) use crate::identity::users::{Credentials, NewUser, Removal, User};
pub(super) use crate::identity::{
    accounts, api_keys, invitations, members, sessions, sign_in_failures, sign_ups, users,
};
pub(super) use crate::ledger::holds::Admission;
pub(super) use crate::ledger::payments::Payment;
pub(super) use crate::ledger::spend::day_of;
pub(super) use crate::ledger::spend_by_key::ROWS_OF_DAY_MAX;
pub(super) use crate::ledger::usage::{Days, Grouping};
pub(super) use crate::ledger::{NewEntry, Posting, entries, payment_checks, payments, spend, usage};
pub(super) use crate::lists::Search;
pub(super) use crate::low_credits::LowCreditsEvent;
pub(super) use crate::nodes::engine_reports;
pub(super) use crate::object_store::{ObjectStoreError, is_reference};
pub(super) use crate::operations::backup::{BackupError, Keep, OnBreach, Repository, check, restore};
pub(super) use crate::operations::transfer::{Counts, ImportError, export, import};
pub(super) use crate::operations::{audit, backup};
pub(super) use crate::outbox::{
    Claim, DeliveryFilter, Due, EventFilter, EventState, NewTest, Payload, webhook_secrets,
};
pub(super) use crate::queue::leases::ReleaseLease;
pub(super) use crate::queue::settle::{Ending, Settlement};
pub(super) use crate::queue::{
    KeyRange, counts, deadlines, expiry, leases, place, releases, scan, segments, settle,
};
pub(super) use crate::requests::{
    Direction, ListFilter, ListScope, NewRequest, PageScope, delete_ended, models,
};
pub(super) use crate::{
    DATABASE_FILE, FolderLock, Store, StoreError, StoreOptions, audit_log, batches, closing, delete_old_keys,
    files, idempotency_keys, ledger, lists, low_credits, nodes, objects, outbox, queue, requests, schema,
    waits,
};

pub(super) use super::fixture::{DAY_MS, Fixture, START, Stage, new_account, open, options, walk};
