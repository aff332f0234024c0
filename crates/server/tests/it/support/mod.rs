//! A whole service in one line, and its clients.

mod app;
mod authority;
mod client;
mod engines;
mod http2;
mod lives;
mod log;
mod order;
mod raw;
mod stepped_clock;
mod stores;
mod tls;

pub(crate) use self::app::{AGES, MODEL, START, TestApp, open_services};
pub(crate) use self::authority::Authority;
pub(crate) use self::client::{Answered, Client};
pub(crate) use self::engines::idle_engine;
pub(crate) use self::http2::Http2;
pub(crate) use self::log::Log;
pub(crate) use self::order::{check_json, keys};
pub(crate) use self::raw::{Raw, pause};
pub(crate) use self::stepped_clock::{SharedSteps, SteppedClock};
pub(crate) use self::stores::store_options;
pub(crate) use self::tls::{Secured, TlsFiles};
