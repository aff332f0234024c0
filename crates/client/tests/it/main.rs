//! The client against a service that says what the test tells it to.

mod administration;
mod answers;
mod bulk;
mod following;
mod lists;
mod retries;
mod stand_in;
mod webhooks;
