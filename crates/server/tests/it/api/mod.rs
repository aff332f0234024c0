//! The API over a real socket: every operation with every answer it may give.

mod batch_cancels;
mod batch_lists;
mod batches;
mod bodies;
mod bulk;
mod cancels;
mod connections;
mod credits;
mod crowds;
mod deletions;
mod disk;
mod exxa;
mod first_start;
mod follows;
mod idempotency;
mod keys;
mod lists;
mod logs;
mod openai_files;
mod operations;
mod overview;
mod pages;
mod quotas;
mod requests;
mod slow_readers;
mod streams;
