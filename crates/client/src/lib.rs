//! How others call it: the Rust client of the HTTP API.
//!
//! ```no_run
//! use overnight_client::{ChatCompletionRequest, ChatMessage, Client, CreateBatch, CreateRequest};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let client = Client::new("http://127.0.0.1:8080", "on_live_…")?;
//!
//! let mut ids = Vec::new();
//! for country in ["France", "Japan", "Peru"] {
//!     let question = ChatMessage::new("user", format!("What is the capital of {country}?"));
//!     let chat = ChatCompletionRequest::new("llama-3.1-8b-instruct", vec![question]);
//!     ids.push(client.create_request(&CreateRequest::new(&chat)?).await?.id);
//! }
//! let batch = client.create_batch(&CreateBatch { requests_ids: ids, ..CreateBatch::default() }).await?;
//!
//! // As they come, within 24 hours:
//! let mut results = client.follow_batch_results(&batch.id, None);
//! while let Some(request) = results.next().await {
//!     println!("{:?}", request?.result_body);
//! }
//! # Ok(())
//! # }
//! ```
//!
//! Lists are read line by line as they arrive, so a list of any length takes the memory of its longest line. A list
//! that is cut off ends in [`Error::Cut`], never as if it were whole.
//!
//! What can be repeated without harm is repeated, with growing pauses, when the service cannot be reached or has too
//! much to do: every read and every cancel, and a create where certainly nothing was accepted. [`Client::once`] gives a create an
//! idempotency key, with which it is repeated after any broken connection. [`Once::create_requests`] sends many over one connection.
//!
//! [`administration`] has the calls of operators, with a key of the scope `admin`.
//!
//! [`webhooks`] checks and reads what the service tells your own server.
//!
//! Proxies are taken from the environment (`HTTP_PROXY`, `HTTPS_PROXY`, `NO_PROXY`), except for a service on this
//! machine. TLS uses the system's certificates, and ring unless the program installed another `rustls` provider.

#![warn(missing_docs)]

mod accounts;
pub mod administration;
mod batches;
mod bulk;
mod client;
mod errors;
mod following;
mod lines;
mod models;
mod once;
mod pause;
mod readiness;
mod requests;
mod retries;
mod send;
pub mod webhooks;

pub use administration::Administration;
pub use bulk::{Bulk, BulkOutcome};
pub use client::Client;
pub use errors::{Error, LINE_BYTES_MAX};
pub use following::Following;
pub use lines::{Lines, RawLines};
pub use once::Once;
pub use overnight_wire::native::accounts::{Account, LowCredits};
pub use overnight_wire::native::batches::{
    BatchCreated, BatchFilter, BatchStatus, BatchSummary, CreateBatch, FullBatch, RequestsCounts,
};
pub use overnight_wire::native::chat::{
    ChatCompletion, ChatCompletionRequest, ChatMessage, Choice, ResponseFormat, Usage,
};
pub use overnight_wire::native::completions::{CompletionRequest, TextChoice, TextCompletion};
pub use overnight_wire::native::embeddings::{Embedding, EmbeddingList, EmbeddingRequest, EmbeddingUsage};
pub use overnight_wire::native::errors::{ErrorBody, ErrorDetail};
pub use overnight_wire::native::models::Model;
pub use overnight_wire::native::requests::{
    CompletionWindow, CreateRequest, FullRequest, Order, RequestCreated, RequestFilter, RequestStatus,
    RequestSummary,
};
pub use overnight_wire::native::results::{FailedResult, FailureBody, RequestBody, ResultBody};
pub use overnight_wire::native::usage::{UsageFilter, UsageList, UsageRecord};
pub use overnight_wire::native::warnings::Warning;
