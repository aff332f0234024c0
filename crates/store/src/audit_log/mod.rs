//! The audit log: who changed permissions, money or settings of accounts. An entry is written in the transaction of its change, so neither
//! exists without the other.
//!
//! A call says once who acts (`Actor`, a task-local like `ReadsFor`; a command line says it with the options of its store), and
//! `Store::transaction` hands that to the transaction. The function that writes a change notes it (`store/audit_log/entries.rs`), so no use
//! case can forget the actor, and a refused entry undoes its change. The same `Actor` gives a request the number of the API key that
//! created it (`request_states.api_key`; a batch of a file hands its own to its requests), and the settle that charges the request reads it
//! there.

pub(crate) mod bounds;
pub(crate) mod entries;
pub(crate) mod reads;
pub(crate) mod retention;

pub use self::bounds::{
    CHANGES_A_DAY_MAX, CHANGES_OF_ONE_A_DAY_MAX, REPLACEMENTS_A_DAY_MAX, SIGN_INS_A_DAY_MAX,
};
pub use self::entries::note_export;
pub(super) use self::entries::{Change, note_import_on, note_in};
pub use self::reads::{Entry, Filter, Page, Place, list};
pub use self::retention::delete_old;
