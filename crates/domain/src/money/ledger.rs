//! Movements of a balance.

/// Why a balance moved. Holds are not entries, because they move no balance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum EntryKind {
    /// The operator granted credits, or took some back.
    Grant,
    /// A payment was received.
    TopUp,
    /// A request completed.
    Charge,
    /// A payment was refunded, or a refund failed.
    Refund,
    /// A payment was taken back through the payer's bank, or the dispute was won.
    Dispute,
}

impl EntryKind {
    /// Every kind, in the order of their codes.
    pub const ALL: [Self; 5] = [Self::Grant, Self::TopUp, Self::Charge, Self::Refund, Self::Dispute];

    /// The name in the API, the CLI and exports.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Grant => "grant",
            Self::TopUp => "top_up",
            Self::Charge => "charge",
            Self::Refund => "refund",
            Self::Dispute => "dispute",
        }
    }

    /// The kind with this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }

    /// Whether it may take an account below zero: credits that are paid back may already be used.
    pub const fn may_overdraw(self) -> bool {
        matches!(self, Self::Refund | Self::Dispute)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_reads_back_from_its_name_and_what_is_paid_back_may_overdraw() {
        let names = ["grant", "top_up", "charge", "refund", "dispute"];
        assert_eq!(EntryKind::ALL.map(EntryKind::as_str), names);
        assert_eq!(names.map(EntryKind::parse), EntryKind::ALL.map(Some));
        assert_eq!(EntryKind::parse("gift"), None);
        assert_eq!(EntryKind::ALL.map(EntryKind::may_overdraw), [false, false, false, true, true]);
    }
}
