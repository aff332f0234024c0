//! Keys of models, accounts, replicas and scans, and places in the queue.

use crate::sort_key::SortKey;

/// A model's row number in the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ModelKey(pub i64);

/// An account's row number in the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AccountKey(pub i64);

/// A replica's place in the list last passed with `SchedulerInput::Replicas`; never reused while the process lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ReplicaKey(pub u32);

/// Names something that several replicas share and one uses at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DeviceKey(pub u32);

/// Names a scan of one partition, so that its answer is not mistaken for another's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ScanKey(pub u64);

/// The unit of fair shares: the requests of one account for one model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct QueuePartition {
    /// The model its requests name.
    pub model: ModelKey,
    /// The account that sent them.
    pub account: AccountKey,
}

/// A place in a partition's order.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Position {
    /// Requests with a common prompt prefix share the first bytes.
    pub sort_key: SortKey,
    /// Arrival order, among equal keys.
    pub seq: i64,
}

/// A queue row: the request `position.seq` waiting in `partition`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct QueueKey {
    /// Its part of the queue.
    pub partition: QueuePartition,
    /// Its place there.
    pub position: Position,
}
