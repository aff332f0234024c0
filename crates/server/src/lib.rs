//! What is done: the HTTP API, the durable queue, the scheduler and the engines.
