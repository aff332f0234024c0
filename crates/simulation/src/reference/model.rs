//! The service in plain words: the answers of a store, without a database, crashes or redundant data.

use std::collections::{BTreeMap, BTreeSet};

use overnight_domain::requests::RequestStatus;

use super::tables::{Batch, Model, Request, State, stored_bytes};
use super::writes::{Answer, Asked, End, LIVE_MAX, NewRequest, Write, request_body};

impl Model {
    /// One transaction of `node`, with the writes in the group's order.
    pub(super) fn commit(&mut self, node: u64, group: &[Asked]) -> Vec<Answer> {
        let mut order: Vec<usize> = (0..group.len()).collect();
        order.sort_by_key(|place| rank(&group[*place].write));
        let mut answers = vec![Answer::Done; group.len()];
        self.moved_at = i64::MIN;
        for place in order {
            let Asked { at, write } = &group[place];
            if matches!(write, Write::Group { .. } | Write::Create(..)) {
                self.move_batches();
            }
            answers[place] = self.write(node, *at, write);
        }
        self.move_batches();
        answers
    }

    fn write(&mut self, node: u64, at: i64, write: &Write) -> Answer {
        match write {
            Write::Create(request, new) => self.create(*request, new),
            Write::Group { batch, account, requests, has_webhook } => {
                self.group(*batch, *account, requests, *has_webhook, at)
            }
            Write::Cancel { request } => self.cancel(*request, at),
            Write::CancelBatch { batch, .. } => self.cancel_batch(*batch, at),
            Write::CancelChunk { batch } => self.cancel_chunk(*batch, at),
            Write::Release { limit } => self.release(*limit as usize, at),
            Write::Lease { requests, .. } => self.lease(node, requests, at),
            Write::Settle(ends) => Answer::Held(ends.iter().map(|end| self.settle(node, end, at)).collect()),
            Write::ReleaseLease { lease, counts } => self.release_lease(node, *lease, *counts, at),
            Write::Expire { limit, answer } => self.expire(*limit as usize, *answer, at),
            Write::Heartbeat => Answer::Done,
            Write::Reclaim => {
                self.nodes.retain(|other| *other == node);
                Answer::Reclaimed(self.reclaim(|holder| holder != node))
            }
            Write::Leave => {
                self.nodes.remove(&node);
                self.reclaim(|holder| holder == node);
                Answer::Done
            }
        }
    }

    fn create(&mut self, request: usize, new: &NewRequest) -> Answer {
        if self.live_requests(new.account) + 1 > LIVE_MAX {
            return Answer::OverQuota;
        }
        let available = self.balance(new.account) - self.held(new.account);
        if new.hold.is_some_and(|(hold, _)| hold > available) {
            return Answer::InsufficientCredits { available };
        }
        let bytes = stored_bytes(request_body(request).len(), new.has_webhook);
        let (state, attempts) = (State::Gathering, Vec::new());
        let new = new.clone();
        #[rustfmt::skip]
        let stored = Request {
            new, bytes, state, attempts, seq: 0, epoch: 0, batch: None, released_at: None, in_progress_at: None, ended_at: None,
            result: None, tokens: None,
        };
        self.requests.insert(request, stored);
        Answer::Taken
    }

    /// All or none. Requests that ended earlier are in the order of their ends.
    fn group(&mut self, batch: usize, account: usize, requests: &[usize], hook: bool, at: i64) -> Answer {
        if requests.iter().any(|request| self.requests[request].batch.is_some()) {
            return Answer::Changed;
        }
        for request in requests {
            self.request(*request).batch = Some(batch);
        }
        let ended: Vec<usize> = requests.iter().copied().filter(|it| !self.requests[it].is_live()).collect();
        let has_begun = requests.iter().any(|it| self.requests[it].status() != RequestStatus::Registered);
        let made = Batch {
            account,
            has_webhook: hook,
            requests: requests.to_vec(),
            in_progress_at: has_begun.then_some(at),
            completed_at: (ended.len() == requests.len()).then_some(at),
            ends: self.by_end(ended),
            cancelled_at: None,
            is_cancelling: false,
        };
        self.batches.insert(batch, made);
        Answer::Grouped(self.counters(batch))
    }

    fn cancel(&mut self, request: usize, at: i64) -> Answer {
        match self.requests[&request].state {
            State::Completed | State::Failed => Answer::AlreadyEnded(self.requests[&request].status()),
            State::Cancelled => Answer::Cancelled,
            _ => {
                self.end(request, State::Cancelled, at);
                Answer::Cancelled
            }
        }
    }

    fn cancel_batch(&mut self, batch: usize, at: i64) -> Answer {
        let batch = self.batch(batch);
        match (batch.completed_at, batch.cancelled_at) {
            (Some(_), _) => return Answer::BatchCompleted,
            (None, Some(_)) if batch.is_cancelling => {}
            (None, Some(_)) => return Answer::BatchCancelled,
            (None, None) => {
                batch.cancelled_at = Some(at.max(batch.in_progress_at.unwrap_or(at)));
                batch.is_cancelling = true;
            }
        }
        Answer::Marked
    }

    fn cancel_chunk(&mut self, batch: usize, at: i64) -> Answer {
        let live: Vec<usize> = self.batches[&batch].requests.clone();
        let live: BTreeSet<usize> = live.into_iter().filter(|it| self.requests[it].is_live()).collect();
        live.iter().for_each(|request| self.end(*request, State::Cancelled, at));
        self.batch(batch).is_cancelling = false;
        Answer::Ended(live)
    }

    fn release(&mut self, limit: usize, at: i64) -> Answer {
        let gathering = |it: &Request| it.state == State::Gathering;
        let mut ready = self.select(|it| gathering(it) && it.new.ready_at <= at, |it| it.new.ready_at);
        ready.truncate(limit);
        let mut added = BTreeMap::new();
        for request in ready {
            let request = self.request(request);
            (request.state, request.released_at) = (State::Waiting, Some(at));
            *added.entry((request.new.account, request.new.model)).or_default() += 1;
        }
        let next = self.requests.values().filter(|it| gathering(it)).map(|it| it.new.ready_at).min();
        Answer::Released(added, next)
    }

    /// Leases waiting requests whose batch is not cancelled. A removed node leases nothing.
    fn lease(&mut self, node: u64, requests: &[usize], at: i64) -> Answer {
        let (mut leased, mut gone) = (Vec::new(), Vec::new());
        for request in requests {
            let waits = self.requests[request].state == State::Waiting && !self.is_held_back(*request);
            if !waits || !self.nodes.contains(&node) {
                gone.push(*request);
                continue;
            }
            let row = self.request(*request);
            (row.state, row.epoch) = (State::Leased(node), row.epoch + 1);
            let (epoch, batch, is_first) = (row.epoch, row.batch, row.in_progress_at.is_none());
            row.in_progress_at.get_or_insert(at);
            leased.push((*request, epoch));
            if let Some(batch) = batch.filter(|_| is_first) {
                self.note_move(batch, at);
            }
        }
        self.leases.extend(&leased);
        Answer::Leased(leased, gone)
    }

    fn settle(&mut self, node: u64, end: &End, at: i64) -> bool {
        let request = self.leases[end.lease].0;
        if !self.is_held(end.lease, Some(node)) || self.is_held_back(request) {
            return false;
        }
        let row = self.request(request);
        (row.result, row.tokens) = (Some(end.answer), end.tokens);
        row.attempts.extend(end.tokens.is_none().then_some(at));
        self.end(request, if end.tokens.is_some() { State::Completed } else { State::Failed }, at);
        true
    }

    fn release_lease(&mut self, node: u64, lease: usize, counts: bool, at: i64) -> Answer {
        let is_held = self.is_held(lease, Some(node));
        if is_held {
            let row = self.request(self.leases[lease].0);
            row.state = State::Waiting;
            row.attempts.extend(counts.then_some(at));
        }
        Answer::Held(vec![is_held])
    }

    fn expire(&mut self, limit: usize, answer: u64, at: i64) -> Answer {
        let mut overdue = self.select(|it| it.is_live() && it.new.deadline <= at, |it| it.new.deadline);
        overdue.truncate(limit);
        for request in &overdue {
            self.request(*request).result = Some(answer);
            self.end(*request, State::Failed, at);
        }
        Answer::Ended(overdue.into_iter().collect())
    }

    /// Requests leased by dead nodes wait again. Returns their number.
    pub(super) fn reclaim(&mut self, is_dead: impl Fn(u64) -> bool) -> u64 {
        let mut count = 0;
        for request in self.requests.values_mut() {
            if matches!(request.state, State::Leased(node) if is_dead(node)) {
                (request.state, count) = (State::Waiting, count + 1);
            }
        }
        count
    }

    fn end(&mut self, request: usize, state: State, at: i64) {
        let row = self.request(request);
        (row.state, row.ended_at) = (state, Some(at.max(row.in_progress_at.unwrap_or(at))));
        if let Some(batch) = row.batch {
            self.note_move(batch, at);
            self.moved.entry(batch).or_default().push(request);
        }
    }

    fn note_move(&mut self, batch: usize, at: i64) {
        self.moved.entry(batch).or_default();
        self.moved_at = self.moved_at.max(at);
    }

    /// Derives the states of batches from their requests.
    fn move_batches(&mut self) {
        for (batch, ended) in std::mem::take(&mut self.moved) {
            let [registered, in_progress, ..] = self.counters(batch);
            let (ended, now) = (self.by_end(ended), self.moved_at);
            let batch = self.batch(batch);
            batch.ends.extend(ended);
            if batch.cancelled_at.is_none() && registered < batch.requests.len() as i64 {
                let in_progress_at = *batch.in_progress_at.get_or_insert(now);
                let is_over = registered + in_progress == 0 && batch.completed_at.is_none();
                batch.completed_at = batch.completed_at.or(is_over.then_some(now.max(in_progress_at)));
            }
        }
    }
}

const fn rank(write: &Write) -> u8 {
    match write {
        Write::Heartbeat => 0,
        Write::Settle(_) => 1,
        Write::Cancel { .. } => 2,
        Write::CancelBatch { .. } => 3,
        Write::CancelChunk { .. } => 4,
        Write::Expire { .. } => 5,
        Write::ReleaseLease { .. } => 6,
        Write::Reclaim => 7,
        Write::Lease { .. } => 8,
        Write::Leave => 9,
        Write::Release { .. } => 10,
        Write::Group { .. } => 11,
        Write::Create(..) => 12,
    }
}
