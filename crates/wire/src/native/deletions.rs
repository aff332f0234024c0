//! The answer to a deletion.

use overnight_domain::ids::{Id, Kind};
use serde::{Deserialize, Serialize};

use crate::json::{Value as _, object};

/// Something that is gone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(example = json!({
    "id": "req_01jz8m3v6qf8jbk2w5n7y9t0xd",
    "deleted": true
})))]
pub struct Deleted {
    /// The identifier that it had.
    pub id: String,
    /// Always true.
    pub deleted: bool,
}

/// Appends the record.
pub fn write_deleted<K: Kind>(id: Id<K>, out: &mut Vec<u8>) {
    object! { "id": id, "deleted": true }.append(out);
}
