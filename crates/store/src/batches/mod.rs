//! Batches: views over requests. Their counters change in the transaction that changes the requests.

pub(crate) mod cancel;
pub(crate) mod deletion;
pub(crate) mod ends;
pub(crate) mod filling;
pub(crate) mod grouping;
pub(crate) mod inputs;
pub(crate) mod insert;
pub(crate) mod listing;
pub(crate) mod new;
pub(crate) mod reads;

#[cfg(test)]
pub(super) use self::cancel::LIVE_OF_BATCH;
pub use self::cancel::{CancelBatchOutcome, ChunkOutcome, cancel, cancel_chunk, list_cancelling};
pub use self::deletion::{BatchDeletionOutcome, DeletedBatch, delete_chunk, list_deleting, mark_deleted};
pub use self::ends::{EndedPage, EndedSoFar, PlaceOfEnd, ended_so_far, find_place, page_ended};
pub use self::filling::{
    FillLine, FillStep, Filled, Filling, claim_filling, fill, list_filling, release_filling,
};
pub use self::grouping::take_apart_left;
#[cfg(test)]
pub(super) use self::grouping::{JOIN, JOIN_IN_QUEUE, LEAVE_QUEUE, LIST_LEFT};
pub use self::inputs::{
    InputBatch, NewInputBatch, NewInputBatchOutcome, delete_output, find_with_input, insert_of_file,
    keep_length, page_with_inputs,
};
pub use self::insert::{NewBatchOutcome, insert, insert_once};
pub use self::listing::{
    BatchCost, ListFilter, cost, count_failed_with, count_live, find_id, list_live, list_newest,
};
#[cfg(test)]
pub(super) use self::listing::{COST, COUNT_LIVE, FLOOR, LIST, LIST_LIVE, list_newest_of};
#[cfg(test)]
pub(super) use self::new::RESOLVE;
pub use self::new::{Member, Membership, NewBatch, resolve};
pub use self::reads::{BatchPage, PAGE_ROWS, find, list_members, page};
