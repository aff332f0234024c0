//! Deficit round robin over the accounts of a model (Shreedhar, Varghese: "Efficient fair queuing using deficit round robin", 1996), in
//! tokens. A run, once begun, is finished, so a deficit may go below zero and is made up for later.
//!
//! An account that has work again goes first, as new flows do in FQ-CoDel (T. Hoeiland-Joergensen et al., RFC 8290, section 4.2), with what
//! it has left in this round: a light account waits for no heavy one, and no account gets more than a quantum a round.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::charges::Charge;
use super::messages::{AccountKey, Candidate};
use super::partitions::PartitionState;
use super::peak::Peak;
use super::rate_window::RateLimits;
use super::segments::{Range, Taker, Turn};
use super::suspects::Suspects;
use super::throughput::{Throughput, UsedPart};

const LOOKS_MAX: usize = 8;
/// Candidates kept between turns, for all partitions of a model together.
const KEPT_MAX: usize = 8192;
/// If a model has several accounts, one in this many of its slots is out of reach of any single account.
const RESERVED_PART: usize = 8;
/// With fewer slots, none is left free.
const RESERVED_OF_MIN: usize = 4;
/// Times that a quantum fills the slots, or as many times as there are slots, if fewer: an account of a few slotfuls finishes before the
/// others continue, instead of its last requests running amid theirs.
const SLOTFULS: i64 = 4;
/// Maximum of a quantum, in mean requests: four full runs.
const QUANTUM_REQUESTS_MAX: i64 = 1024;

#[derive(Debug, Default)]
pub(super) struct Model {
    pub(super) partitions: BTreeMap<AccountKey, PartitionState>,
    /// Those set aside, and how they are tried.
    pub(super) suspects: Suspects,
    /// Requests that its replicas may have in flight together.
    pub(super) capacity: i64,
    /// Limits of its replicas together.
    pub(super) per_minute: RateLimits,
    /// Other nodes sweep its partitions too.
    is_shared: bool,
    /// Partitions that may have work; the next turn is in front.
    ring: VecDeque<AccountKey>,
    /// Moving mean of the estimated costs leased.
    mean_cost: i64,
    /// Moving mean of what was charged for them.
    mean_charge: i64,
    /// What requests of all accounts used of their estimates.
    pub(super) used: Throughput,
    pub(super) peak: Peak,
    round: u64,
    /// Given to each partition in this round.
    quantum: i64,
    /// Mean charge of a request when the round began.
    round_charge: i64,
}

#[derive(Debug, Default)]
pub(super) struct Choice {
    /// Its window is not empty.
    pub(super) account: Option<AccountKey>,
    /// Scans to make for it or for the next ones.
    pub(super) scans: Vec<(AccountKey, Range)>,
}

enum Walk {
    Found(AccountKey),
    Wait,
    Spent {
        /// Of the account that owes least, including its slot time.
        debt: i64,
        /// That account owes slot time, and only its share of the slots stops another account.
        is_loan: bool,
    },
}

impl Model {
    pub(super) fn new(capacity: i64, is_shared: bool) -> Self {
        Self { capacity, is_shared, round: 1, quantum: 1, ..Self::default() }
    }

    /// Creates it if it is new.
    pub(super) fn partition(&mut self, account: AccountKey, now: i64) -> &mut PartitionState {
        self.partitions.entry(account).or_insert_with(|| PartitionState::new(self.is_shared, now))
    }

    pub(super) fn is_endangered(&self) -> bool {
        self.partitions.values().any(PartitionState::is_endangered)
    }

    pub(super) fn first_in_danger(&self) -> Option<i64> {
        self.partitions.values().filter_map(PartitionState::first_in_danger).min()
    }

    /// Adds a partition that may have work to the ring: in front while it may take some in this round.
    pub(super) fn enlist(&mut self, account: AccountKey) {
        let Some(partition) = self.partitions.get_mut(&account) else { return };
        if partition.in_ring || !partition.is_visible() {
            return;
        }
        partition.in_ring = true;
        partition.begin_round(self.round, self.quantum);
        if partition.left() > 0 {
            self.ring.push_front(account);
        } else {
            self.ring.push_back(account);
        }
    }

    /// Requests that one account may hold. All, if no other had work within the last minute that is not held back by refusals. Otherwise
    /// part of the slots is left free, so that one account's requests that run until they time out cannot keep every slot from the others.
    fn share(&self, now: i64) -> usize {
        let capacity = usize::try_from(self.capacity).unwrap_or(0);
        let takes_slots = |it: &&PartitionState| it.is_active(now) && it.refusals.until(now).is_none();
        let are_several = || self.partitions.values().filter(takes_slots).nth(1).is_some();
        if capacity < RESERVED_OF_MIN || !are_several() {
            return usize::MAX;
        }
        capacity - (capacity / RESERVED_PART).max(1)
    }

    /// Mean estimated cost of the requests leased lately.
    pub(super) const fn mean_cost(&self) -> i64 {
        self.mean_cost
    }

    /// Waiting requests that scans can see, as far as known, and at least one for each partition to be scanned; counted up to `most`.
    pub(super) fn visible(&self, most: usize) -> usize {
        let mut count = 0_usize;
        for partition in self.ring.iter().filter_map(|it| self.partitions.get(it)) {
            if count >= most {
                break;
            }
            if partition.is_visible() {
                let known = usize::try_from(partition.visible_count()).unwrap_or(0);
                count = count.saturating_add(known.max(1));
            }
        }
        count.min(most)
    }

    /// Waiting requests that may be tried by now, as far as known, including those set aside.
    pub(super) fn known(&self) -> usize {
        let known = self.partitions.values().map(PartitionState::known);
        known.fold(self.suspects.len(), usize::saturating_add)
    }

    pub(super) fn room_of(&self, account: AccountKey, now: i64) -> usize {
        let share = self.share(now);
        self.partitions.get(&account).map_or(share, |partition| {
            share.min(partition.refusals.most_held(now)).saturating_sub(partition.held)
        })
    }

    /// Whose requests the taker leases next. Partitions that `skips` names are passed over and keep their turn. Those that it `cannot` take
    /// delay no others' turns.
    pub(super) fn choose(
        &mut self,
        taker: Taker<'_>,
        skips: impl Fn(AccountKey) -> bool,
        cannot: &BTreeSet<AccountKey>,
        now: i64,
    ) -> Choice {
        let (mut choice, mut lends) = (Choice::default(), false);
        loop {
            match self.walk(taker, lends, &skips, cannot, now, &mut choice.scans) {
                Walk::Found(account) => choice.account = Some(account),
                Walk::Wait => {}
                Walk::Spent { is_loan: true, .. } if (taker.idle)(taker.replica).unwrap_or(0) == 0 => {}
                Walk::Spent { is_loan: true, .. } => {
                    lends = true;
                    continue;
                }
                Walk::Spent { debt, .. } => {
                    self.begin_round(debt);
                    continue;
                }
            }
            return choice;
        }
    }

    fn walk(
        &mut self,
        taker: Taker<'_>,
        lends: bool,
        skips: impl Fn(AccountKey) -> bool,
        cannot: &BTreeSet<AccountKey>,
        now: i64,
        scans: &mut Vec<(AccountKey, Range)>,
    ) -> Walk {
        let (mut index, mut pending, mut hoped) = (0, 0, 0_i64);
        let (mut least_debt, mut any_left, mut any_held_back) = (None, false, false);
        let share = self.share(now);
        let wanted = i64::try_from(taker.wanted).unwrap_or(i64::MAX);
        while let Some(&account) = self.ring.get(index) {
            let Some(partition) =
                self.partitions.get_mut(&account).filter(|partition| partition.is_visible())
            else {
                self.leave(index);
                continue;
            };
            index += 1;
            let is_held_back = partition.held >= share;
            if is_held_back {
                partition.held_back_in = Some(self.round);
                any_held_back = true;
            }
            let is_refused = partition.held >= partition.refusals.most_held(now);
            if is_held_back || is_refused || cannot.contains(&account) || !partition.lists.is_for(taker) {
                continue;
            }
            let owes_time = partition.owed_time > 0;
            if partition.left() <= 0 && !(lends && owes_time) {
                least_debt = least_debt.max(Some((partition.left(), owes_time)));
                continue;
            }
            any_left = true;
            if skips(account) {
                continue;
            }
            let mut beside = None;
            let turn = partition.turn(taker, &mut beside, now);
            scans.extend(beside.map(|range| (account, range)));
            match turn {
                Turn::Ready => return Walk::Found(account),
                Turn::Nothing => continue,
                Turn::Wait(scan) => scans.extend(scan.map(|range| (account, range))),
            }
            pending += 1;
            hoped = hoped.saturating_add(partition.visible_count());
            if pending >= LOOKS_MAX || hoped >= wanted {
                return Walk::Wait;
            }
        }
        match least_debt {
            Some((debt, owes_time)) if !any_left => Walk::Spent { debt, is_loan: owes_time && any_held_back },
            _ => Walk::Wait,
        }
    }

    /// If no replica walks the ring, removes partitions without work.
    fn leave_empty(&mut self) {
        let partitions = &mut self.partitions;
        self.ring.retain(|account| {
            partitions.get_mut(account).is_some_and(|it| {
                it.in_ring = it.is_visible();
                it.in_ring
            })
        });
    }

    fn leave(&mut self, index: usize) {
        let Some(account) = self.ring.remove(index) else { return };
        if let Some(partition) = self.partitions.get_mut(&account) {
            partition.in_ring = false;
        }
    }

    /// Begins as many rounds as it takes until the partition with the smallest debt may continue. Partitions without work begin theirs when
    /// they have some.
    fn begin_round(&mut self, debt: i64) {
        self.quantum = self.next_quantum();
        self.round_charge = self.mean_charge;
        let rounds = debt.saturating_neg() / self.quantum + 1;
        self.round = self.round.saturating_add(rounds.unsigned_abs());
        for account in &self.ring {
            if let Some(partition) = self.partitions.get_mut(account) {
                partition.begin_round(self.round, self.quantum);
            }
        }
    }

    /// What each partition may take in the next round: a few times what the model's replicas work on concurrently, so that one slot takes
    /// turns by the request and a fleet by the run; but no more than rate limits allow in a minute, because the others must wait for it.
    fn next_quantum(&self) -> i64 {
        let requests = self.capacity.saturating_mul(self.capacity.clamp(1, SLOTFULS));
        let most = self.per_minute.requests_per_minute.map_or(QUANTUM_REQUESTS_MAX, i64::from);
        let requests = requests.min(most).clamp(1, QUANTUM_REQUESTS_MAX);
        let most = self.per_minute.tokens_per_minute.unwrap_or(i64::MAX);
        self.mean_charge.saturating_mul(requests).min(most).max(1)
    }

    /// The part of its estimated cost that the account's requests are expected to use.
    pub(super) fn used_part(&self, account: AccountKey) -> UsedPart {
        let own = self.partitions.get(&account).and_then(|it| it.throughput.used_part());
        own.or_else(|| self.used.used_part()).unwrap_or_default()
    }

    /// Charges a partition for a run that is leased for a replica with these limits. Its turn ends if it has no deficit left.
    pub(super) fn charge(&mut self, account: AccountKey, run: &[Candidate], limits: RateLimits) -> Charge {
        let part = self.used_part(account);
        for candidate in run {
            self.mean_cost = moved(self.mean_cost, candidate.cost.max(1));
            self.mean_charge = moved(self.mean_charge, part.of(candidate.cost));
        }
        let charge = Charge { part, bounds: limits.bounds(self.round_charge) };
        let sum = run.iter().fold(0_i64, |sum, it| sum.saturating_add(charge.of(it.cost)));
        self.settle(account, sum.saturating_neg());
        charge
    }

    /// Reduces a partition's charge by `refund`, or raises it if negative.
    pub(super) fn settle(&mut self, account: AccountKey, refund: i64) {
        let quantum = self.quantum;
        self.adjust(account, |it| it.deficit = it.deficit.saturating_add(refund).min(quantum));
    }

    /// Changes what is left to a partition, whose turn ends if that is used up.
    pub(super) fn adjust(&mut self, account: AccountKey, change: impl FnOnce(&mut PartitionState)) {
        let Some(partition) = self.partitions.get_mut(&account) else { return };
        let had_left = partition.left() > 0;
        change(partition);
        if partition.in_ring
            && had_left
            && partition.left() <= 0
            && let Some(index) = self.ring.iter().position(|it| *it == account)
        {
            self.ring.remove(index);
            self.ring.push_back(account);
            partition.lists.trim((KEPT_MAX / self.ring.len()).clamp(8, 128));
        }
    }

    /// Once a second: forgets partitions that have long been quiet. Returns true if any may be scanned again.
    pub(super) fn repair(&mut self, in_flight: &BTreeMap<AccountKey, usize>, now: i64) -> bool {
        let (share, round, mut again) = (self.share(now), self.round, Vec::new());
        let waits = self.partitions.values().any(|it| it.visible_count() > 0);
        let all_taken = in_flight.values().sum();
        let are_most =
            i64::try_from(all_taken).unwrap_or(i64::MAX).saturating_mul(8) >= self.capacity.saturating_mul(7);
        self.peak.pass(all_taken, waits && are_most, now);
        if self.capacity == 0 {
            self.leave_empty();
        }
        self.partitions.retain(|account, partition| {
            let taken = in_flight.get(account).copied().unwrap_or(0);
            let most_taken = is_held_back(share, round, partition).then_some((taken, all_taken));
            partition.throughput.pass(partition.waiting() > 0, partition.held > 0, most_taken, now);
            let is_over = partition.repair(now) && partition.held == 0;
            if !partition.in_ring && partition.is_visible() {
                again.push(*account);
            }
            !is_over
        });
        let has_work = |account| self.partitions.contains_key(&account);
        self.suspects.repair(self.capacity > 0, has_work, now);
        for account in &again {
            self.enlist(*account);
        }
        !again.is_empty()
    }
}

/// Whether a partition that may hold `share` requests holds most of them, and held all in this round or one of the last two.
fn is_held_back(share: usize, round: u64, partition: &PartitionState) -> bool {
    let is_near = partition.held >= share - share / 4;
    is_near && partition.held_back_in.is_some_and(|was_in| round - was_in <= 2)
}

/// The moving mean after one more value; `mean` is 0 if there was none.
fn moved(mean: i64, value: i64) -> i64 {
    match mean {
        0 => value,
        mean => mean.saturating_add(value.saturating_sub(mean) / 64).max(1),
    }
}
