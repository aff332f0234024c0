//! Embeddings, answered as the engine wrote them, as numbers or base64.

use overnight_domain::faults::Faults;
use overnight_domain::json::JsonText;

use super::chat;

/// Converts a body to the native Create Request; no member steers only the call. Never fails: the checks of the endpoint report the faults.
pub fn to_native(body: JsonText) -> Result<JsonText, Faults> {
    Ok(chat::without(&[], body))
}
