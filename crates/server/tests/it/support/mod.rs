//! A whole service in one line, and those who call it.

mod app;
mod client;
mod lives;
mod log;
mod order;
mod raw;
mod stores;

pub(crate) use self::app::{MODEL, START, TestApp};
pub(crate) use self::client::{Answered, Client};
pub(crate) use self::log::Log;
pub(crate) use self::order::keys;
pub(crate) use self::raw::Raw;
pub(crate) use self::stores::store_options;
