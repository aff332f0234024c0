//! Mistakes that tests must catch: `scripts/planted-bugs` makes one at a time, and reports which test catches it.
//!
//! Only builds with debug assertions and the feature `planted-bugs` contain them, and only the one that the environment variable
//! `PLANTED_BUG` names is made. In every other build this module is not compiled and has no effect.

#[cfg(feature = "planted-bugs")]
mod chosen;

#[cfg(all(feature = "planted-bugs", not(debug_assertions)))]
compile_error!(
    "the feature `planted-bugs` is for builds with debug assertions: what is released holds no planted bug"
);

/// A mistake in code. Mistakes in statements need no mark in code: the statements are changed on their way to the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bug {
    /// A group of writes is acknowledged although its commit may have failed.
    AckBeforeCommit,
    /// The cancel of a request in progress is answered, but not done.
    CancelLost,
    /// Passed deadlines are never checked again, although the clock is set back.
    ExpiryByWallClock,
    /// A checked name is resolved again for the connection.
    AddressNotPinned,
    InnerAddressCalled,
    /// A batch's event is written with its last but one end.
    EventBeforeEnd,
    /// A request of another account is refused differently than an unknown one.
    ForeignIdToldApart,
    /// A cancelled request continues to hold credits.
    HoldKept,
    /// Ends of one transaction are not in order.
    EndsUnsorted,
    /// An object is stored after its reference is committed.
    ObjectPutLate,
    /// An object's row is deleted before the object.
    ObjectRowDeletedFirst,
}

impl Bug {
    #[cfg(not(feature = "planted-bugs"))]
    #[inline]
    pub const fn is_planted(self) -> bool {
        false
    }

    #[cfg(feature = "planted-bugs")]
    pub fn is_planted(self) -> bool {
        chosen::in_code() == Some(self)
    }
}

/// Plants the chosen mistake in a statement, if it belongs there.
#[cfg(not(feature = "planted-bugs"))]
#[inline]
pub const fn statement(text: &'static str) -> &'static str {
    text
}

#[cfg(feature = "planted-bugs")]
pub use self::chosen::{changed_parts, statement};
