//! Files that clients upload. One comes in pieces of whole lines, each stored before the next is read, and is a file once it is
//! whole. What is deleted is gone at once for clients; its pieces go some at a time, and not while a batch takes its requests from them.

pub(in crate::store) mod coming;
pub(in crate::store) mod deletion;
pub(in crate::store) mod reads;

pub use self::coming::{Appended, FinishedFile, NewFile, append, begin, discard, finish};
pub use self::deletion::{delete, delete_expired, delete_pieces};
pub use self::reads::{FilePage, FoundFile, Piece, find, next_piece, page};
