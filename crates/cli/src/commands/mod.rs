//! The commands, each in its own file.

pub(crate) mod accounts;
pub(crate) mod api_keys;
pub(crate) mod audit;
pub(crate) mod bench;
pub(crate) mod cancel;
pub(crate) mod completion;
pub(crate) mod doctor;
pub(crate) mod engine_guard;
pub(crate) mod explain;
pub(crate) mod export;
pub(crate) mod import;
pub(crate) mod list;
pub(crate) mod listen;
pub(crate) mod man;
pub(crate) mod migrate;
pub(crate) mod model;
pub(crate) mod openapi;
mod operator;
pub(crate) mod results;
pub(crate) mod run;
pub(crate) mod serve;
pub(crate) mod status;
pub(crate) mod submit;
pub(crate) mod users;
pub(crate) mod watch;
pub(crate) mod webhooks;
