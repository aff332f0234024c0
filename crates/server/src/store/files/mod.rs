//! Files that clients upload. One comes in pieces of whole lines, each stored before the next is read, and is a file once it is
//! whole. What is deleted is gone at once for clients; its pieces go some at a time, and not while a batch takes its requests from them.
//! The parts of an upload are kept in the same way, as files that come until their upload is completed.

pub(in crate::store) mod coming;
pub(in crate::store) mod deletion;
pub(in crate::store) mod parts;
pub(in crate::store) mod reads;
pub(in crate::store) mod upload_ends;
pub(in crate::store) mod uploads;

pub use self::coming::{Appended, FinishedFile, NewFile, append, begin, discard, finish};
pub use self::deletion::{delete, delete_expired, delete_of_account, delete_pieces};
pub use self::parts::{Attached, FoundPart, NewPart, attach, list as list_parts};
pub use self::reads::{FilePage, FoundFile, Piece, find, next_piece, page};
pub use self::upload_ends::{Completed, Completion, cancel, complete};
pub use self::uploads::{Begun, FoundUpload, NewUpload, create, find_upload, forget_old};
