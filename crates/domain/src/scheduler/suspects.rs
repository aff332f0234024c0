//! Which of many requests kills engines? Group testing (R. Dorfman: "The detection of defective members of large populations", Annals of
//! Mathematical Statistics, 1943).
//!
//! Most engines die through no request's fault. So suspects run amid ordinary work at first, and an engine is full as soon as it is back;
//! their results clear them.
//!
//! If an engine dies with suspects in flight, its model is cautious for ten minutes: suspects are set aside, and run in groups that have a
//! replica to themselves. A group that completes is cleared. Of a group that dies, half is tried next (binary splitting), so that one
//! guilty request of n is found after at most log2(n) + 1 deaths. From then on it runs by itself, and each death is an attempt that counts
//! against it.
//!
//! A group is of one account, and accounts take turns: a guilty request delays no other account's suspects. The number of an account's
//! suspects tried together grows by one with each that completes, and is halved with each group that dies. So an account whose every
//! request is guilty is tried one at a time after its first group. Between two trials the replica takes other work, four times as long as
//! the trial and the restart after it took: deaths per hour in trials have a bound, however many requests are guilty.
//!
//! Ordinary work amid a group would fill its idle slots, but a death would make all of it suspect, and others would pay for the guilty
//! request again.
//!
//! The search is in memory, and each node has its own. A suspect with a counted attempt is therefore set aside by all of them; any other
//! may run amid ordinary work once on each.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::messages::{AccountKey, Candidate};

/// Suspects set aside per model; a later revolution finds more.
const SUSPECTS_MAX: usize = 1024;
/// How long suspects do not run amid ordinary work after an engine died with suspects in flight; time in which no engine is in use does not
/// count.
const CAUTION_MS: i64 = 600_000;
/// The suspects of a death are back in the queue by then, so that a group does not consist of the first ones only.
const GATHER_MS: i64 = 1_000;

#[derive(Debug)]
struct Suspect {
    account: AccountKey,
    candidate: Candidate,
}

/// Progress of the search in one account's suspects.
#[derive(Debug)]
struct Search {
    /// The group that died last, without those that completed since: one of these is guilty, if any is.
    accused: BTreeSet<i64>,
    /// Those that broke their connection while they had a replica to themselves.
    guilty: BTreeSet<i64>,
    group_max: usize,
}

impl Default for Search {
    fn default() -> Self {
        Self { accused: BTreeSet::new(), guilty: BTreeSet::new(), group_max: usize::MAX }
    }
}

#[derive(Debug, Default)]
pub(super) struct Suspects {
    aside: VecDeque<Suspect>,
    /// Whose were tried last.
    last_tried: Option<AccountKey>,
    searches: BTreeMap<AccountKey, Search>,
    cautious_until: Option<i64>,
    gather_until: Option<i64>,
    passed_at: Option<i64>,
}

impl Suspects {
    pub(super) fn len(&self) -> usize {
        self.aside.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.aside.is_empty()
    }

    pub(super) fn are_due(&self, now: i64) -> bool {
        !self.is_empty() && self.gather_until.is_none_or(|until| until <= now)
    }

    pub(super) fn seqs(&self) -> impl Iterator<Item = i64> {
        self.aside.iter().map(|it| it.candidate.position.seq)
    }

    /// Whether the request must not run amid ordinary work.
    pub(super) fn is_apart(&self, is_suspect: bool, attempts: u32, now: i64) -> bool {
        is_suspect && (attempts > 0 || self.cautious_until.is_some_and(|until| now < until))
    }

    /// Returns whether there was room.
    pub(super) fn set_aside(&mut self, account: AccountKey, candidate: Candidate) -> bool {
        let has_room = self.aside.len() < SUSPECTS_MAX;
        if has_room {
            self.aside.push_back(Suspect { account, candidate });
        }
        has_room
    }

    /// A group that was taken could not be leased.
    pub(super) fn put_back(&mut self, account: AccountKey, group: Vec<Candidate>) {
        for candidate in group.into_iter().rev() {
            self.aside.push_front(Suspect { account, candidate });
        }
    }

    /// The waiting requests were counted anew: those set aside are seen again.
    pub(super) fn forget_seen(&mut self) {
        self.aside.clear();
    }

    pub(super) fn end(&mut self, seqs: &BTreeSet<i64>) {
        self.aside.retain(|it| !seqs.contains(&it.candidate.position.seq));
    }

    /// Takes the next group, at most `most` of one account that `is_free` names, if possible not the last account.
    pub(super) fn take_group(
        &mut self,
        most: usize,
        is_free: impl Fn(AccountKey) -> bool,
    ) -> Option<(AccountKey, Vec<Candidate>)> {
        let last = self.last_tried;
        let free = |it: &&Suspect| is_free(it.account);
        let others = self.aside.iter().find(|it| free(it) && Some(it.account) != last);
        let first = others.or_else(|| self.aside.iter().find(free))?;
        let (account, seq) = (first.account, first.candidate.position.seq);
        let group = self.choose(account, seq, most);
        self.last_tried = Some(account);
        let (taken, left) = std::mem::take(&mut self.aside)
            .into_iter()
            .partition(|it| group.contains(&it.candidate.position.seq));
        self.aside = left;
        let taken: VecDeque<Suspect> = taken;
        Some((account, taken.into_iter().map(|it| it.candidate).collect()))
    }

    /// The first by itself if it is guilty; else half of the accused, if any is seen; else as many of the account's as may be tried
    /// together.
    fn choose(&self, account: AccountKey, first: i64, most: usize) -> BTreeSet<i64> {
        let own = self.aside.iter().filter(|it| it.account == account).map(|it| it.candidate.position.seq);
        let Some(search) = self.searches.get(&account) else { return own.take(most).collect() };
        if search.guilty.contains(&first) {
            return BTreeSet::from([first]);
        }
        let most = most.min(search.group_max);
        let half = search.accused.len().div_ceil(2);
        let own = own.filter(|seq| !search.guilty.contains(seq));
        let (accused, others): (Vec<i64>, Vec<i64>) = own.partition(|seq| search.accused.contains(seq));
        match accused.is_empty() {
            true => others.into_iter().take(most).collect(),
            false => accused.into_iter().take(most.min(half)).collect(),
        }
    }

    /// These suspects were in flight when their replica died.
    pub(super) fn note_death(&mut self, account: AccountKey, group: BTreeSet<i64>, now: i64) {
        self.cautious_until = Some(now + CAUTION_MS);
        self.gather_until = Some(now + GATHER_MS);
        let search = self.searches.entry(account).or_default();
        search.group_max = (group.len() / 2).max(1);
        search.accused = group;
    }

    /// A request broke its connection while it had a replica to itself, or a suspect did so on a working replica.
    pub(super) fn convict(&mut self, account: AccountKey, seq: i64) {
        let search = self.searches.entry(account).or_default();
        search.accused.remove(&seq);
        search.guilty.insert(seq);
    }

    pub(super) fn clear(&mut self, account: AccountKey, seq: i64, was_suspect: bool) {
        if let Some(search) = self.searches.get_mut(&account).filter(|_| was_suspect) {
            search.accused.remove(&seq);
            search.guilty.remove(&seq);
            search.group_max = search.group_max.saturating_add(1);
        }
    }

    /// Once a second: searches end with the caution that they are part of, and with the work of their account. A caution lasts longer while
    /// the model is not served.
    pub(super) fn repair(&mut self, is_served: bool, has_work: impl Fn(AccountKey) -> bool, now: i64) {
        let ms = self.passed_at.replace(now).map_or(0, |since| (now - since).clamp(0, CAUTION_MS));
        if !is_served {
            self.cautious_until = self.cautious_until.map(|until| until + ms);
        }
        if self.cautious_until.is_some_and(|until| until <= now) {
            self.cautious_until = None;
            self.searches.clear();
        }
        self.searches.retain(|account, _| has_work(*account));
    }
}
