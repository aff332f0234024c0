//! What operators do with the whole database: recount it, export it, import it.

pub mod audit;
pub mod transfer;
