//! The audit log: who changed who may do what, money, or settings of accounts. An entry is written in the transaction of the change
//! that it tells of, so there is none without the other.
//!
//! The audit log is written where the change is. A call says once who acts (`Actor`, a task-local like `ReadsFor`; a command line
//! says it with the options of its store), and `Store::transaction` hands that to the transaction. The function that writes a change
//! notes it (`store/audit_log/entries.rs`) in the same transaction, so no use case can forget who it was, and an entry that is
//! refused undoes its change. A request has the number of the API key that created it from the same `Actor`
//! (`request_states.api_key`; a batch of a file hands its own to its requests), and the settle that charges it reads it there.

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
