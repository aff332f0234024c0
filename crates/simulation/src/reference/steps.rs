//! What a sequence is made of. A step names what it is about by how long ago that was made, so that a sequence of which steps are
//! left out is one as well.

#[derive(Debug, Clone)]
pub struct Step {
    /// Whether the second node does it. A folder has one node.
    pub second_node: bool,
    /// Whether it waits in the writer's line until its node commits the next one, in one group with it.
    pub waits: bool,
    pub act: Act,
}

/// What a step does. A `pick` counts back from the newest, around and around.
#[derive(Debug, Clone)]
pub enum Act {
    Create {
        second_account: bool,
        second_model: bool,
        /// What it holds in nano-credits, and at which price point; `None` where it costs nothing.
        hold: Option<(u16, bool)>,
        /// For how many milliseconds it gathers.
        gathers_ms: u8,
        /// In how many seconds its completion window ends.
        window_s: u8,
        /// Whether somebody is told of its end.
        has_webhook: bool,
    },
    Group {
        /// Picks of one account's, of which those up to 239 are of no batch.
        picks: Vec<u8>,
        second_account: bool,
        /// Whether somebody is told of its end.
        has_webhook: bool,
    },
    Cancel(u8),
    /// A client cancels a batch: its mark.
    CancelBatch(u8),
    /// The next chunk of the cancel of a batch that is marked.
    CancelChunk(u8),
    /// So many requests that are ready enter the queue, at most.
    Release(u8),
    /// The scheduler leases neighbours.
    Lease {
        /// Of whose partition; from 224 on what has ended is asked for too.
        pick: u8,
        /// How many, at most.
        most: u8,
    },
    /// Engines answered: picks of leases, each with the tokens read and written, or nothing where it failed for good.
    Settle(Vec<(u8, Option<(u8, u8)>)>),
    /// The scheduler gives a lease back.
    ReleaseLease {
        pick: u8,
        counts: bool,
    },
    /// So many requests whose deadline has passed fail, at most.
    Expire(u8),
    /// Everything in line is written; then so many milliseconds pass.
    Wait(u16),
    Heartbeat,
    /// A node takes all others for dead. They may live, and write on.
    Reclaim,
    /// The process dies, with its line written or not, and is started again.
    Crash {
        /// Whether its line is committed. Nobody is told.
        after_commit: bool,
    },
    /// The process ends as asked: what it holds is released. It is started again.
    Stop,
}
