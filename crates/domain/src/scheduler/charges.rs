//! What requests are charged to their accounts.

use super::throughput::UsedPart;

/// What a request is charged at least and at most, in cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bounds {
    least: i64,
    most: i64,
}

impl Bounds {
    /// Whatever it costs.
    pub(super) const NONE: Self = Self::at_least(1);

    pub(super) const fn at_least(least: i64) -> Self {
        Self { least, most: i64::MAX }
    }

    /// Whatever it costs, the same.
    pub(super) const fn exactly(charge: i64) -> Self {
        Self { least: charge, most: charge }
    }

    /// What a request of this cost is charged; 1 at least.
    pub(super) fn of(self, cost: i64) -> i64 {
        cost.clamp(self.least, self.most).max(1)
    }
}

/// What the requests of a run are charged when they are leased.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Charge {
    /// The part of their estimated costs that they are expected to use.
    pub(super) part: UsedPart,
    pub(super) bounds: Bounds,
}

impl Charge {
    /// What a request of this estimated cost is charged; 1 at least.
    pub(super) fn of(self, cost: i64) -> i64 {
        self.bounds.of(self.part.of(cost))
    }
}
