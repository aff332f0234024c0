//! What requests are charged to their accounts.

use super::throughput::UsedPart;

/// Bounds of a request's charge, in cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bounds {
    least: i64,
    most: i64,
}

impl Bounds {
    pub(super) const NONE: Self = Self::at_least(1);

    pub(super) const fn at_least(least: i64) -> Self {
        Self { least, most: i64::MAX }
    }

    pub(super) const fn exactly(charge: i64) -> Self {
        Self { least: charge, most: charge }
    }

    /// The charge for this cost, at least 1.
    pub(super) fn of(self, cost: i64) -> i64 {
        cost.clamp(self.least, self.most).max(1)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Charge {
    /// The part of their estimated costs that they are expected to use.
    pub(super) part: UsedPart,
    pub(super) bounds: Bounds,
}

impl Charge {
    /// The charge for this estimated cost, at least 1.
    pub(super) fn of(self, cost: i64) -> i64 {
        self.bounds.of(self.part.of(cost))
    }
}
