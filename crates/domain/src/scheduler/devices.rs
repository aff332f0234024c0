//! Devices that several replicas share, such as a GPU that holds one model at a time: which of them runs there.
//!
//! A replica keeps its device until it has no work, another's deadline is in danger before any of its own, or its time slice is over and
//! another has had the device for less time. A swap costs the time to stop one engine and load the next, in which no work is done. So a
//! device earns a twentieth of the time in which an engine runs on it, and pays for swaps with that credit; for deadlines it may owe as
//! much as it may save. A swap that costs more than the maximum is due once the maximum is saved. A replica that gave its device up for
//! another's deadlines needs no credit to return for its own: the swap there paid for both. A replica that has no work, and could not pay,
//! is stopped like any other that has long been idle, so work gathers if there is little of it for each of several models. One that is
//! paused and works on no request gives way without credit.
//!
//! Deadlines give no replica a lead of more than a slice. Otherwise an account whose requests are always in danger, because they are more
//! than can be done, would keep the device from all others. Time on the device while no other replica waited for it is no lead. A replica
//! whose last start failed waits for the end of a slice, whatever its deadlines: it may fail again.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::Scheduler;
use super::messages::{DeviceKey, ProcessStatus, ReplicaKey};
use super::process_state::EngineProcess;
use super::replicas::ReplicaState;

/// A device earns one millisecond per this many of an engine's run.
const EARNED_OF: i64 = 20;
/// Maximum of savings, and of debt for deadlines.
const CREDIT_MAX_MS: i64 = 600_000;
/// A replica without work for this long gives way.
const IDLE_MS: i64 = 2_000;
/// A replica that is paused for all its models, and works on no request, gives way after this time.
const UNWELL_MS: i64 = 10_000;
/// Use of a device counts half once one replica had this many slices.
const REMEMBERED_SLICES: i64 = 4;

#[derive(Debug)]
pub(super) struct Device {
    /// For swaps.
    pub(super) credit_ms: i64,
    passed_at: Option<i64>,
    /// The replica for which the last one was told to end.
    next: Option<ReplicaKey>,
    /// Since when no engine runs on it although one is to.
    swapping_since: Option<i64>,
}

impl Device {
    const fn new() -> Self {
        Self { credit_ms: 0, passed_at: None, next: None, swapping_since: None }
    }

    /// Time passed, in which an engine ran on it, or was loaded or ended, or none was meant to.
    fn pass(&mut self, holder: Option<ProcessStatus>, now: i64) -> i64 {
        let ms = self.passed_at.replace(now).map_or(0, |since| (now - since).clamp(0, 60_000));
        let earned = match holder {
            Some(ProcessStatus::Running) => ms / EARNED_OF,
            Some(_) => -ms,
            None => 0,
        };
        self.credit_ms = (self.credit_ms + earned).clamp(-CREDIT_MAX_MS, CREDIT_MAX_MS);
        ms
    }
}

impl Scheduler {
    /// Once a second: gives each shared device to whose turn it is.
    pub(super) fn take_turns(&mut self, now: i64) {
        let mut sharing: BTreeMap<DeviceKey, Vec<ReplicaKey>> = BTreeMap::new();
        for (key, replica) in &self.replicas {
            if let Some(device) = replica.device() {
                sharing.entry(device).or_default().push(*key);
            }
        }
        self.devices.retain(|device, _| sharing.contains_key(device));
        for (device, keys) in sharing {
            self.pass_on(device, &keys, now);
        }
    }

    fn pass_on(&mut self, device: DeviceKey, keys: &[ReplicaKey], now: i64) {
        let status = |key: &ReplicaKey| self.process(*key).map(|it| it.status);
        let holder = keys.iter().copied().find(|key| status(key) != Some(ProcessStatus::Stopped));
        let holder_status = holder.and_then(|key| status(&key));
        let state = self.devices.entry(device).or_insert_with(Device::new);
        let ms = state.pass(holder_status, now);
        let (credit_ms, next) = (state.credit_ms, state.next);
        let mut waiting: Vec<_> = keys.iter().copied().filter(|key| self.is_due(*key, now)).collect();
        waiting.sort_by_cached_key(|key| self.rank(*key, next));
        let Some(holder) = holder else {
            match waiting.first() {
                Some(key) => {
                    self.begin_swap(device, None, now);
                    self.start(*key, now);
                }
                None => _ = self.end_swap(device),
            }
            return;
        };
        if !waiting.is_empty() {
            self.count_use(holder, keys, ms);
        }
        if holder_status == Some(ProcessStatus::Starting) {
            if let Some(key) = waiting.into_iter().find(|key| self.has_precedence(holder, *key, credit_ms)) {
                self.note_displaced(holder, key);
                self.stop_process(holder, now);
            }
            return;
        }
        if holder_status != Some(ProcessStatus::Running) {
            return;
        }
        let successor = waiting.into_iter().find(|key| self.gives_way(holder, *key, credit_ms, now));
        if let Some(key) = successor {
            if self.has_precedence(holder, key, credit_ms) {
                self.note_displaced(holder, key);
            }
            self.begin_swap(device, Some(key), now);
            self.drain_process(holder, now);
        }
    }

    fn process(&self, key: ReplicaKey) -> Option<&EngineProcess> {
        self.replicas.get(&key)?.process.as_ref()
    }

    /// Order of starts: the replica for which the device was freed, the first deadline in danger, the least use, the longest wait.
    fn rank(&self, key: ReplicaKey, next: Option<ReplicaKey>) -> (Reverse<bool>, i64, i64, Option<i64>) {
        let process = self.process(key);
        let due_at = self.first_in_danger(key).unwrap_or(i64::MAX);
        (
            Reverse(next == Some(key)),
            due_at,
            process.map_or(0, |it| it.used_ms),
            process.and_then(|it| it.wanted_since),
        )
    }

    pub(super) fn is_next(&self, key: ReplicaKey) -> bool {
        let device = self.replicas.get(&key).and_then(ReplicaState::device);
        device.and_then(|it| self.devices.get(&it)).is_some_and(|it| it.next == Some(key))
    }

    fn begin_swap(&mut self, device: DeviceKey, next: Option<ReplicaKey>, now: i64) {
        if let Some(state) = self.devices.get_mut(&device) {
            state.next = next;
            state.swapping_since.get_or_insert(now);
        }
    }

    /// An engine is ready on it, or none is to run for now. Returns since when it was being swapped.
    fn end_swap(&mut self, device: DeviceKey) -> Option<i64> {
        let state = self.devices.get_mut(&device)?;
        state.next = None;
        state.swapping_since.take()
    }

    /// The holder had its device for `ms` while another waited.
    fn count_use(&mut self, holder: ReplicaKey, keys: &[ReplicaKey], ms: i64) {
        let Some(slice_ms) = self.slice_ms(holder) else { return };
        let used_ms = |replicas: &mut BTreeMap<ReplicaKey, ReplicaState>, key: &ReplicaKey, ms| {
            let process = replicas.get_mut(key).and_then(|it| it.process.as_mut());
            process.map_or(0, |it| {
                it.used_ms += ms;
                it.used_ms
            })
        };
        if used_ms(&mut self.replicas, &holder, ms) < slice_ms.saturating_mul(REMEMBERED_SLICES) {
            return;
        }
        for key in keys {
            let half = used_ms(&mut self.replicas, key, 0) / 2;
            used_ms(&mut self.replicas, key, -half);
        }
    }

    fn slice_ms(&self, key: ReplicaKey) -> Option<i64> {
        Some(self.replicas.get(&key)?.config.process.as_ref()?.time_slice_ms)
    }

    /// Whether the device goes from `holder` to `other`, which waits.
    fn gives_way(&self, holder: ReplicaKey, other: ReplicaKey, credit_ms: i64, now: i64) -> bool {
        let (Some(running), Some(waiting)) = (self.process(holder), self.process(other)) else {
            return false;
        };
        if self.has_precedence(holder, other, credit_ms) || self.is_of_no_use(holder, now) {
            return true;
        }
        let is_urgent = self.is_urgent(holder, other);
        if !is_paid_for(running, waiting, is_urgent, credit_ms) {
            return false;
        }
        let is_idle = running.idle_since.is_some_and(|since| now - since >= IDLE_MS);
        let slice_ms = self.slice_ms(holder).unwrap_or(0);
        is_idle || waiting.used_ms < running.used_ms && now - running.since >= slice_ms
    }

    /// Whether a replica is paused for all its models and works on no request.
    fn is_of_no_use(&self, key: ReplicaKey, now: i64) -> bool {
        let Some(replica) = self.replicas.get(&key).filter(|it| it.claimed() == 0) else { return false };
        let since = replica.process.as_ref().and_then(|it| it.unwell_since);
        since.is_some_and(|since| now - since >= UNWELL_MS)
    }

    /// Whether the deadlines of `other` precede all work of `holder`.
    fn has_precedence(&self, holder: ReplicaKey, other: ReplicaKey, credit_ms: i64) -> bool {
        let (Some(running), Some(waiting)) = (self.process(holder), self.process(other)) else {
            return false;
        };
        let lead_ms = waiting.used_ms - running.used_ms;
        self.is_urgent(holder, other)
            && lead_ms <= self.slice_ms(holder).unwrap_or(0)
            && waiting.failures == 0
            && is_paid_for(running, waiting, true, credit_ms)
    }

    /// The device is taken from `holder` for the deadlines of `other`. That pays for the swaps there and back, unless this is itself the
    /// way back.
    fn note_displaced(&mut self, holder: ReplicaKey, other: ReplicaKey) {
        let is_way_back = self.process(other).is_some_and(|it| it.is_displaced);
        if let Some(it) = self.replicas.get_mut(&holder).and_then(|it| it.process.as_mut()) {
            it.is_displaced = !is_way_back;
        }
    }

    /// Whether a deadline of `other` is in danger, and precedes those of `holder` that are.
    fn is_urgent(&self, holder: ReplicaKey, other: ReplicaKey) -> bool {
        let due_at = |key| self.first_in_danger(key).unwrap_or(i64::MAX);
        due_at(other) < due_at(holder)
    }

    /// A replica is ready on its device: measures the swap.
    pub(super) fn note_swap(&mut self, key: ReplicaKey, now: i64) {
        let Some(device) = self.replicas.get(&key).and_then(ReplicaState::device) else { return };
        let since = self.end_swap(device);
        if let Some(process) = self.replicas.get_mut(&key).and_then(|it| it.process.as_mut()) {
            process.swap_ms = since.map(|since| (now - since).max(0)).or(process.swap_ms);
        }
    }

    /// A replica did not start on its device: the lost time is no part of the next swap.
    pub(super) fn note_failed_swap(&mut self, key: ReplicaKey) {
        if let Some(device) = self.replicas.get(&key).and_then(ReplicaState::device) {
            self.end_swap(device);
        }
    }

    /// Maximum wait of a replica until its device has earned the swaps to it and back, in milliseconds.
    pub(super) fn turn_guard_ms(&self, replica: &ReplicaState) -> i64 {
        let Some(device) = replica.device() else { return 0 };
        if replica.process.as_ref().is_some_and(|it| it.is_displaced) {
            return 0;
        }
        let credit_ms = self.devices.get(&device).map_or(0, |it| it.credit_ms);
        let swap_ms = |it: &ReplicaState| it.process.as_ref().and_then(|it| it.swap_ms).unwrap_or(0);
        let others = self.replicas.values().filter(|it| it.device() == Some(device));
        let back_ms = others.map(swap_ms).max().unwrap_or(0);
        let swaps_ms = swap_ms(replica).saturating_add(back_ms).min(CREDIT_MAX_MS);
        swaps_ms.saturating_sub(credit_ms + CREDIT_MAX_MS).max(0).saturating_mul(EARNED_OF)
    }
}

/// Whether the swap and the one back were earned, because it may have to be undone immediately. For deadlines a device may owe.
fn is_paid_for(running: &EngineProcess, waiting: &EngineProcess, is_urgent: bool, credit_ms: i64) -> bool {
    let swaps_ms = [running, waiting].map(|it| it.swap_ms.unwrap_or(0)).iter().sum::<i64>();
    let owed_ms = if is_urgent { CREDIT_MAX_MS } else { 0 };
    is_urgent && waiting.is_displaced || credit_ms + owed_ms >= swaps_ms.min(CREDIT_MAX_MS)
}
