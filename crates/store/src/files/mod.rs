//! Files that clients upload. A file arrives in pieces of whole lines, each stored before the next is read, and exists once it is complete.
//! A deleted file is gone for clients immediately; its pieces are deleted step by step, after batches have taken their requests from them.
//! The parts of an upload are kept in the same way, as incomplete files, until their upload is completed.

pub(crate) mod coming;
pub(crate) mod deletion;
mod guarded;
pub(crate) mod parts;
pub(crate) mod reads;
pub(crate) mod upload_ends;
pub(crate) mod uploads;

pub use self::coming::{Appended, FinishedFile, NewFile, append, begin, discard, finish};
pub use self::deletion::{delete, delete_expired, delete_of_account, delete_pieces};
pub use self::parts::{Attached, FoundPart, NewPart, attach, list as list_parts};
pub use self::reads::{FilePage, FoundFile, Piece, find, next_piece, page};
pub use self::upload_ends::{Completed, Completion, cancel, complete};
pub use self::uploads::{Begun, FoundUpload, NewUpload, create, find_upload, forget_old};
