//! Batches: views over requests. Their counters move in the transaction that moves the requests.

pub(in crate::store) mod cancel;
pub(in crate::store) mod deletion;
pub(in crate::store) mod ends;
pub(in crate::store) mod filling;
pub(in crate::store) mod inputs;
pub(in crate::store) mod insert;
pub(in crate::store) mod listing;
pub(in crate::store) mod reads;

#[cfg(test)]
pub(super) use self::cancel::LIVE_OF_BATCH;
pub use self::cancel::{CancelBatchOutcome, ChunkOutcome, cancel, cancel_chunk, list_cancelling};
pub use self::deletion::{BatchDeletionOutcome, DeletedBatch, delete_chunk, list_deleting, mark_deleted};
pub use self::ends::{EndedPage, EndedSoFar, PlaceOfEnd, ended_so_far, find_place, page_ended};
pub use self::filling::{
    FillLine, FillStep, Filled, Filling, claim_filling, fill, list_filling, release_filling,
};
pub use self::inputs::{
    InputBatch, NewInputBatch, NewInputBatchOutcome, OutputKind, delete_output, find_with_input,
    insert_of_file, page_with_inputs,
};
#[cfg(test)]
pub(super) use self::insert::{FREE, JOIN, JOIN_IN_QUEUE, RESOLVE};
pub use self::insert::{Member, NewBatch, NewBatchOutcome, insert, insert_once, resolve};
pub use self::listing::{
    BatchCost, ListFilter, cost, count_failed_with, count_live, find_id, list_live, list_newest,
};
#[cfg(test)]
pub(super) use self::listing::{COST, COUNT_LIVE, FLOOR, LIST, LIST_LIVE, list_newest_of};
pub use self::reads::{BatchPage, find, list_members, page};
