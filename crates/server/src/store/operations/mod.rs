//! What operators do with the whole database: check and recount it, back it up, export it, import it, write it anew.

pub mod audit;
pub mod backup;
pub mod integrity;
pub mod transfer;
pub mod vacuum;
