//! The steps of a sequence. A step refers to its subject by age, so a sequence with steps left out is valid too.

#[derive(Debug, Clone)]
pub struct Step {
    /// Whether the second node does it. A folder has one node.
    pub second_node: bool,
    /// Whether it waits in the writer's queue until its node commits the next one, in one group with it.
    pub waits: bool,
    pub act: Act,
}

/// A `pick` counts back from the newest, cyclically.
#[derive(Debug, Clone)]
pub enum Act {
    Create {
        second_account: bool,
        second_model: bool,
        /// The hold in nano-credits and its price point; `None` if it costs nothing.
        hold: Option<(u16, bool)>,
        gathers_ms: u8,
        window_s: u8,
        /// Whether its end is reported by webhook.
        has_webhook: bool,
    },
    Group {
        /// Picks of one account's requests; picks up to 239 are of requests without a batch.
        picks: Vec<u8>,
        second_account: bool,
        /// Whether its end is reported by webhook.
        has_webhook: bool,
    },
    Cancel(u8),
    /// A client cancels a batch, which marks it.
    CancelBatch(u8),
    /// The next chunk of the cancel of a marked batch.
    CancelChunk(u8),
    /// At most this many ready requests enter the queue.
    Release(u8),
    Lease {
        /// The partition; from 224 on, ended requests are included.
        pick: u8,
        /// At most this many.
        most: u8,
    },
    /// Engines answered: picks of leases, each with the tokens read and written; `None` for a final failure.
    Settle(Vec<(u8, Option<(u8, u8)>)>),
    ReleaseLease {
        pick: u8,
        counts: bool,
    },
    /// At most this many overdue requests fail.
    Expire(u8),
    /// The queue is written; then so many milliseconds pass.
    Wait(u16),
    Heartbeat,
    /// A node declares all others dead. They may live, and continue to write.
    Reclaim,
    /// The process dies, with its queue written or not, and is restarted.
    Crash {
        /// Whether its queue is committed. No caller is told.
        after_commit: bool,
    },
    /// The process is stopped, which releases its leases, and restarted.
    Stop,
}
