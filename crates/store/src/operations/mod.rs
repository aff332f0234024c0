//! Operations on the whole database: check, recount, back up, export, import and rewrite.

pub mod audit;
pub mod backup;
pub mod integrity;
pub(crate) mod own_schema;
pub mod transfer;
pub mod vacuum;
