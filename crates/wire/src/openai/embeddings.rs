//! Embeddings: they are answered as the engine wrote them, as numbers or as base64.

use overnight_domain::faults::Faults;
use overnight_domain::json::JsonText;

use super::chat;

/// The body of a request as the native dialect takes it. Nothing in it steers the call alone.
///
/// # Errors
///
/// None: the checks of the endpoint name the faults.
pub fn to_native(body: JsonText) -> Result<JsonText, Faults> {
    Ok(chat::without(&[], body))
}
