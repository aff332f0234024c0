//! A model of the lease protocol, small enough to visit every state: two nodes, a few requests of one batch, and every order in which their
//! writes can reach the database.
//!
//! # The protocol
//!
//! A live request has one row in the queue. The row says whether it is leased, by which node, and its *epoch*, which every lease raises. A
//! node has a row as well, which its heartbeats renew. Each of these is one transaction:
//!
//! - **Lease**: if the row waits, the node has its row and the batch is not marked, the node leases the row under the next epoch, remembers
//!   the epoch and sends the request to an engine.
//! - **Answer**: if the row is leased by this node under this epoch and the batch is not marked, the transaction deletes the row, stores
//!   the result and charges a completion. Otherwise it writes nothing.
//! - **Release**: if the row is leased by this node under this epoch, it waits again.
//! - **Cancel** and **Expire**: the transaction that deletes the row ends the request; an expiry stores an error as its result.
//! - **Mark**: the batch is cancelled. Its requests end one by one afterwards, as by a cancel.
//! - **Reclaim**: a node declares its peer dead, deletes the peer's row, and the peer's leased rows wait again.
//! - **Heartbeat**: the node has its row again.
//!
//! A node declared dead may be dead, asleep, or merely slow. It may repeat any write at any later time, under an old epoch, after its peer
//! has leased the same request, or after it has leased the request a second time. That includes writes in flight when its process died. The
//! model allows all of it.
//!
//! # Invariants
//!
//! In every reachable state ([`explore`] visits all of them):
//!
//! - a request has one result if it completed, failed or expired, and otherwise none;
//! - it is charged once if it completed, and otherwise never;
//! - an ended request does not change;
//! - a request has at most one current lease, and only that lease settles;
//! - after the mark of its batch, no request is leased or settles;
//! - each lease holder has a row, so that a peer can reclaim the lease.
//!
//! # Guards
//!
//! [`Guards`] leaves them out one at a time. Without the *epoch*, a node settles under a lost lease after leasing the request again.
//! Without the *mark*, a cancelled batch goes on. Without the *row of the node*, a removed node takes leases that nobody reclaims. The
//! guard on the *node* is redundant: an epoch already names one lease of one node.
//!
//! # The search
//!
//! The search is breadth-first, so a counterexample is a shortest one. It is written here because published checkers are larger
//! dependencies than it is long: `stateright` 0.31 brings a web server and seven other crates.

mod search;

pub use self::search::{Counterexample, Explored, explore};

pub const NODES: usize = 2;
pub const REQUESTS_MAX: usize = 2;

/// Which conditions the writes check.
#[derive(Debug, Clone, Copy)]
pub struct Guards {
    /// A write under a lease checks its epoch.
    pub epoch: bool,
    /// A write under a lease checks its node.
    pub node: bool,
    /// A lease and an answer check that the batch is not marked.
    pub mark: bool,
    /// A lease checks that its node has a row.
    pub row: bool,
}

impl Guards {
    pub const ALL: Self = Self { epoch: true, node: true, mark: true, row: true };
}

/// A transaction. Requests and nodes are counted from 0, epochs from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the page of the protocol says what each does")]
pub enum Action {
    Lease { node: usize, request: usize },
    Answer { node: usize, request: usize, epoch: u8, end: End },
    Release { node: usize, request: usize, epoch: u8 },
    Cancel { request: usize },
    Expire { request: usize },
    Mark,
    Reclaim { by: usize },
    Heartbeat { node: usize },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "they are the states of a request")]
pub enum End {
    Completed,
    Failed,
    Cancelled,
    Expired,
}

/// The database, what nodes remember, and what an observer knows of both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
struct State {
    requests: [Request; REQUESTS_MAX],
    has_row: [bool; NODES],
    is_marked: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
struct Request {
    /// `None` if the request has ended or does not exist.
    row: Option<Row>,
    end: Option<End>,
    results: u8,
    charges: u8,
    /// The epochs that each node was given, one bit each.
    remembered: [u8; NODES],
    /// Known to the observer: the epochs of ended leases, one bit each.
    over: u8,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
struct Row {
    holder: Option<usize>,
    epoch: u8,
}

const fn bit(epoch: u8) -> u8 {
    1 << epoch
}

impl State {
    /// All requests wait, and both nodes live.
    fn first(requests: usize) -> Self {
        let mut state = Self { has_row: [true; NODES], ..Self::default() };
        state.requests.iter_mut().take(requests).for_each(|request| request.row = Some(Row::default()));
        state
    }

    /// The possible actions. Each request is leased at most `leases_max` times.
    fn actions(&self, leases_max: u8) -> Vec<Action> {
        let mut actions = vec![Action::Mark];
        for node in 0..NODES {
            actions.extend([Action::Reclaim { by: node }, Action::Heartbeat { node }]);
        }
        for (request, facts) in self.requests.iter().enumerate() {
            if facts.row.is_none() && facts.end.is_none() {
                continue;
            }
            actions.extend([Action::Cancel { request }, Action::Expire { request }]);
            for node in 0..NODES {
                if facts.row.is_some_and(|row| row.epoch < leases_max) {
                    actions.push(Action::Lease { node, request });
                }
                for epoch in (1..=leases_max).filter(|epoch| facts.remembered[node] & bit(*epoch) != 0) {
                    let answer = |end| Action::Answer { node, request, epoch, end };
                    actions.extend([answer(End::Completed), answer(End::Failed)]);
                    actions.push(Action::Release { node, request, epoch });
                }
            }
        }
        actions
    }

    /// The state after an action; `None` if its conditions do not hold.
    fn after(mut self, action: Action, guards: Guards) -> Option<Self> {
        match action {
            Action::Lease { node, request } => {
                let is_free = self.has_row[node] || !guards.row;
                let facts = &mut self.requests[request];
                let row = facts.row.as_mut().filter(|row| row.holder.is_none() && is_free)?;
                if self.is_marked && guards.mark {
                    return None;
                }
                *row = Row { holder: Some(node), epoch: row.epoch + 1 };
                facts.remembered[node] |= bit(row.epoch);
            }
            Action::Answer { node, request, epoch, end } => {
                self.requests[request].held(node, epoch, guards)?;
                if self.is_marked && guards.mark {
                    return None;
                }
                self.requests[request].end(end);
            }
            Action::Release { node, request, epoch } => {
                self.requests[request].held(node, epoch, guards)?;
                self.requests[request].give_back();
            }
            Action::Cancel { request } => {
                self.requests[request].row?;
                self.requests[request].end(End::Cancelled);
            }
            Action::Expire { request } => {
                self.requests[request].row?;
                self.requests[request].end(End::Expired);
            }
            Action::Mark => self.is_marked = true,
            Action::Reclaim { by } => {
                for peer in (0..NODES).filter(|peer| *peer != by) {
                    self.has_row[peer] = false;
                    let is_theirs = |it: &&mut Request| it.row.is_some_and(|row| row.holder == Some(peer));
                    self.requests.iter_mut().filter(is_theirs).for_each(Request::give_back);
                }
            }
            Action::Heartbeat { node } => self.has_row[node] = true,
        }
        Some(self)
    }
}

impl Request {
    /// The row, if it is leased to this node under this epoch.
    fn held(&self, node: usize, epoch: u8, guards: Guards) -> Option<Row> {
        let is_its = |row: &Row| row.holder == Some(node) || (!guards.node && row.holder.is_some());
        self.row.filter(is_its).filter(|row| row.epoch == epoch || !guards.epoch)
    }

    fn give_back(&mut self) {
        self.lease_ends();
        if let Some(row) = &mut self.row {
            row.holder = None;
        }
    }

    fn end(&mut self, end: End) {
        self.lease_ends();
        (self.row, self.end) = (None, Some(end));
        self.results += u8::from(end != End::Cancelled);
        self.charges += u8::from(end == End::Completed);
    }

    fn lease_ends(&mut self) {
        self.over |= self.row.filter(|row| row.holder.is_some()).map_or(0, |row| bit(row.epoch));
    }
}
