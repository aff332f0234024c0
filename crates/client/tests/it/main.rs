//! The client against a scripted service.

mod administration;
mod answers;
mod bulk;
mod following;
mod lists;
mod retries;
mod stand_in;
mod webhooks;
