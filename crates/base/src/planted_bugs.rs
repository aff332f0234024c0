//! Mistakes that tests must catch: `scripts/planted-bugs` makes one after the other, and says which test catches it.
//!
//! Only builds with debug assertions and the feature `planted-bugs` hold them, and only where the environment variable `PLANTED_BUG` names one. In every
//! other build nothing here does anything, and nothing of it is compiled.

#[cfg(feature = "planted-bugs")]
mod chosen;

#[cfg(all(feature = "planted-bugs", not(debug_assertions)))]
compile_error!(
    "the feature `planted-bugs` is for builds with debug assertions: what is released holds no planted bug"
);

/// A mistake in code. Mistakes in statements need no mark where they stand: they are changed on their way to the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bug {
    /// A group of writes is acknowledged though nobody knows whether its commit was made.
    AckBeforeCommit,
    /// The cancel of a request that an engine works on is answered, and not done.
    CancelLost,
    /// Deadlines that have passed by the clock are never looked for again, though the clock is set back.
    ExpiryByWallClock,
    /// A name that was judged is looked up again to be called.
    AddressNotPinned,
    InnerAddressCalled,
    /// The event of a batch is written with the last but one of its ends.
    EventBeforeEnd,
    /// A request of another account is refused in other words than an unknown one.
    ForeignIdToldApart,
    /// A cancelled request goes on to hold credits.
    HoldKept,
    /// Ends of one transaction have places in no order.
    EndsUnsorted,
    /// An object is put after what names it is committed.
    ObjectPutLate,
    /// The row of an object is deleted before the object is.
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

/// A statement, with its mistake where one is planted in it.
#[cfg(not(feature = "planted-bugs"))]
#[inline]
pub const fn statement(text: &'static str) -> &'static str {
    text
}

#[cfg(feature = "planted-bugs")]
pub use self::chosen::{changed_parts, statement};
