//! The durable queue: everything that is kept, and the only SQL there is.
