//! The audit log: who changed who may do what, money, or settings of accounts. An entry is written in the transaction of the change
//! that it tells of, so there is none without the other.

pub(in crate::store) mod bounds;
pub(in crate::store) mod entries;
pub(in crate::store) mod reads;
pub(in crate::store) mod retention;

pub use self::bounds::{
    CHANGES_A_DAY_MAX, CHANGES_OF_ONE_A_DAY_MAX, REPLACEMENTS_A_DAY_MAX, SIGN_INS_A_DAY_MAX,
};
pub use self::entries::note_export;
pub(super) use self::entries::{Change, note_import_on, note_in};
pub use self::reads::{Entry, Filter, Page, Place, list};
pub use self::retention::delete_old;
