//! Each client's share of common resources: calls under way, and memory for responses and request bodies.
//!
//! A client is an account, or else an address. Each has a share of the process's memory of either kind, so that clients which do not read
//! or send leave the rest to others. Memory is granted in order of asking, first from the client's share and then from the process's.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use axum::body::Bytes;
use overnight_app::{ClientNetwork, ReadsFor};
use overnight_config::ConnectionLimits;
use overnight_domain::scheduler::AccountKey;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

use super::counters;
use super::waiting_calls::{WaitingCalls, WaitingPlace};

/// The unit of memory, in bytes.
const UNIT_BYTES: usize = 1 << 10;

/// One client holds at most this part of the memory.
const PARTS: usize = 4;

/// Bulk creates of one client under way: each holds up to a mebibyte of short lines.
const BULK_CALLS_MAX: usize = 16;

/// Lines that one client's bulk creates are storing at a time: two groups of the writer, and half of an account's share of its queue.
const BULK_LINES_MAX: usize = 512;

/// The use of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Buffer {
    /// Responses, until they were sent.
    Responses,
    /// Bodies of requests, until they were read.
    Requests,
}

impl Buffer {
    const ALL: [Self; 2] = [Self::Responses, Self::Requests];

    const fn gauge(self) -> &'static str {
        match self {
            Self::Responses => counters::RESPONSES,
            Self::Requests => counters::REQUESTS,
        }
    }

    const fn bytes(self, limits: &ConnectionLimits) -> usize {
        match self {
            Self::Responses => limits.response_buffer_bytes,
            Self::Requests => limits.request_buffer_bytes,
        }
    }
}

/// The holder of a share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Client {
    /// A caller with a key of this account.
    Account(AccountKey),
    /// A caller without a key from this network.
    Network(ClientNetwork),
}

impl Client {
    /// The turn for its reads.
    pub(super) fn reads(self) -> ReadsFor {
        match self {
            Self::Account(account) => ReadsFor::Account(account),
            Self::Network(network) => network.reads(),
        }
    }
}

/// The shares of all clients that hold something.
pub(super) struct Shares {
    limits: ConnectionLimits,
    /// In the order of [`Buffer`].
    memory: [Arc<Semaphore>; 2],
    waiting: Arc<WaitingCalls<Client>>,
    followers: Arc<WaitingCalls<Client>>,
    held: Arc<Mutex<Held>>,
}

type Held = BTreeMap<Client, Weak<Share>>;

/// The holdings of a client; dropped with the last of them.
struct Share {
    client: Client,
    held: Arc<Mutex<Held>>,
    calls: Arc<Semaphore>,
    bulk_calls: Arc<Semaphore>,
    bulk_lines: Arc<Semaphore>,
    memory: [Arc<Semaphore>; 2],
}

/// A call under way; dropped with the last byte of its response.
pub(super) struct CallPermit {
    place: Mutex<CallPlace>,
    share: Arc<Share>,
}

/// The kind of place that a call holds.
enum CallPlace {
    Ordinary { _call: OwnedSemaphorePermit },
    Waiting { _place: WaitingPlace<Client> },
}

/// A bulk create under way; dropped with its last line.
pub(super) struct BulkPermit {
    _call: OwnedSemaphorePermit,
    share: Arc<Share>,
}

/// A line of a bulk create that is being accepted.
pub(super) struct LinePermit {
    _line: OwnedSemaphorePermit,
}

impl BulkPermit {
    /// A slot for one more line, once it is free: the client's bulk creates share them, in order of asking. Never `None`.
    pub(super) async fn begin_line(&self) -> Option<LinePermit> {
        let line = Arc::clone(&self.share.bulk_lines).acquire_owned().await.ok()?;
        Some(LinePermit { _line: line })
    }
}

/// Memory for a response or a body; returned when it is dropped.
pub(super) struct MemoryPermit {
    buffer: Buffer,
    of_client: OwnedSemaphorePermit,
    of_process: OwnedSemaphorePermit,
    share: Arc<Share>,
    process: Arc<Semaphore>,
}

impl Shares {
    pub(super) fn new(limits: ConnectionLimits) -> Self {
        let memory = Buffer::ALL.map(|buffer| Arc::new(Semaphore::new(buffer.bytes(&limits) / UNIT_BYTES)));
        let waiting = WaitingCalls::new(limits.max / 2, limits.waiting_per_account, counters::count_waiting);
        let followers =
            WaitingCalls::new(limits.max / 4, limits.followers_per_account, counters::count_followers);
        Self { limits, memory, waiting, followers, held: Arc::default() }
    }

    fn of(&self, client: Client) -> Arc<Share> {
        let mut held = lock(&self.held);
        if let Some(share) = held.get(&client).and_then(Weak::upgrade) {
            return share;
        }
        let share = Arc::new(Share {
            client,
            held: Arc::clone(&self.held),
            calls: Arc::new(Semaphore::new(self.limits.calls_per_account)),
            bulk_calls: Arc::new(Semaphore::new(BULK_CALLS_MAX)),
            bulk_lines: Arc::new(Semaphore::new(BULK_LINES_MAX)),
            memory: Buffer::ALL.map(|buffer| Arc::new(Semaphore::new(self.units_of_client(buffer)))),
        });
        held.insert(client, Arc::downgrade(&share));
        share
    }

    fn units_of_client(&self, buffer: Buffer) -> usize {
        buffer.bytes(&self.limits) / PARTS / UNIT_BYTES
    }

    /// `None` if the client has too many calls under way.
    pub(super) fn begin_call(&self, client: Client) -> Option<CallPermit> {
        let share = self.of(client);
        let call = Arc::clone(&share.calls).try_acquire_owned().ok()?;
        Some(CallPermit { place: Mutex::new(CallPlace::Ordinary { _call: call }), share })
    }

    /// The call waits from now on and no longer counts as an ordinary one of its client; `None` if the client has too many waiting calls.
    /// Notified once another client has the place.
    pub(super) fn begin_waiting(&self, call: &CallPermit) -> Option<Arc<Notify>> {
        let place = self.waiting.begin(call.share.client)?;
        let lost = place.lost();
        *lock(&call.place) = CallPlace::Waiting { _place: place };
        Some(lost)
    }

    /// The call follows a batch from now on and no longer counts as an ordinary one of its client; `None` if the client follows too many.
    /// Notified once another client has the place.
    pub(super) fn begin_following(&self, call: &CallPermit) -> Option<Arc<Notify>> {
        let place = self.followers.begin(call.share.client)?;
        let lost = place.lost();
        *lock(&call.place) = CallPlace::Waiting { _place: place };
        Some(lost)
    }

    /// `None` if the client has too many bulk creates under way.
    pub(super) fn begin_bulk(&self, client: Client) -> Option<BulkPermit> {
        let share = self.of(client);
        let call = Arc::clone(&share.bulk_calls).try_acquire_owned().ok()?;
        Some(BulkPermit { _call: call, share })
    }

    /// Memory for `bytes`, without waiting; `None` if too little is free. More than the client's share counts as the share.
    pub(super) fn try_memory(&self, buffer: Buffer, client: Client, bytes: usize) -> Option<MemoryPermit> {
        let (share, units) = (self.of(client), self.units(buffer, bytes));
        let of_client = Arc::clone(&share.memory[buffer as usize]).try_acquire_many_owned(units).ok()?;
        let of_process = Arc::clone(&self.memory[buffer as usize]).try_acquire_many_owned(units).ok()?;
        Some(self.granted(buffer, share, of_client, of_process))
    }

    /// The same, once it is free. Never `None`, because the semaphores are not closed.
    pub(super) async fn memory(&self, buffer: Buffer, client: Client, bytes: usize) -> Option<MemoryPermit> {
        let (share, units) = (self.of(client), self.units(buffer, bytes));
        let of_client = Arc::clone(&share.memory[buffer as usize]).acquire_many_owned(units).await.ok()?;
        let of_process = Arc::clone(&self.memory[buffer as usize]).acquire_many_owned(units).await.ok()?;
        Some(self.granted(buffer, share, of_client, of_process))
    }

    fn granted(
        &self,
        buffer: Buffer,
        share: Arc<Share>,
        of_client: OwnedSemaphorePermit,
        of_process: OwnedSemaphorePermit,
    ) -> MemoryPermit {
        counters::count_memory(buffer.gauge(), bytes_of(&of_client) as f64);
        let process = Arc::clone(&self.memory[buffer as usize]);
        MemoryPermit { buffer, of_client, of_process, share, process }
    }

    fn units(&self, buffer: Buffer, bytes: usize) -> u32 {
        let units = bytes.div_ceil(UNIT_BYTES).min(self.units_of_client(buffer));
        u32::try_from(units).unwrap_or(u32::MAX)
    }
}

impl CallPermit {
    /// Whether the call has the key of an account.
    pub(super) fn is_of_account(&self) -> bool {
        matches!(self.share.client, Client::Account(_))
    }
}

impl MemoryPermit {
    /// Corrects the memory to the real size: an excess is returned; more is taken as far as it is free.
    pub(super) fn correct(&mut self, bytes: usize) {
        let before = bytes_of(&self.of_client);
        let (held, wanted) = (self.of_client.num_permits(), bytes.div_ceil(UNIT_BYTES));
        drop(self.of_client.split(held.saturating_sub(wanted)));
        drop(self.of_process.split(held.saturating_sub(wanted)));
        let of_share = &self.share.memory[self.buffer as usize];
        let free = of_share.available_permits().min(self.process.available_permits());
        let more = u32::try_from(wanted.saturating_sub(held).min(free)).unwrap_or(u32::MAX);
        let of_client = Arc::clone(of_share).try_acquire_many_owned(more);
        let of_process = Arc::clone(&self.process).try_acquire_many_owned(more);
        if let (Ok(of_client), Ok(of_process)) = (of_client, of_process) {
            self.of_client.merge(of_client);
            self.of_process.merge(of_process);
        }
        counters::count_memory(self.buffer.gauge(), bytes_of(&self.of_client) as f64 - before as f64);
    }
}

/// The bytes, which hold the memory as long as they exist.
pub(super) fn hold(bytes: Bytes, memory: Arc<MemoryPermit>) -> Bytes {
    Bytes::from_owner(HeldBytes { bytes, _memory: memory })
}

struct HeldBytes {
    bytes: Bytes,
    _memory: Arc<MemoryPermit>,
}

impl AsRef<[u8]> for HeldBytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for MemoryPermit {
    fn drop(&mut self) {
        counters::count_memory(self.buffer.gauge(), -(bytes_of(&self.of_client) as f64));
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut held = lock(&self.held);
        // Another share may have replaced this one.
        if held.get(&self.client).is_some_and(|share| share.strong_count() == 0) {
            held.remove(&self.client);
        }
    }
}

fn bytes_of(permit: &OwnedSemaphorePermit) -> usize {
    permit.num_permits() * UNIT_BYTES
}

fn lock<T>(held: &Mutex<T>) -> MutexGuard<'_, T> {
    held.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
