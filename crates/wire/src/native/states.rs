//! Serde modules for states and events, from the domain's table of names.

use serde::de::{Error, Unexpected};
use serde::{Deserialize, Deserializer, Serializer};

/// Defines the serde module of an enum that has `as_str` and `parse`.
macro_rules! by_name {
    ($module:ident, $state:ty, $expected:literal) => {
        pub(super) mod $module {
            use super::*;

            #[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes fields by reference")]
            pub(in super::super) fn serialize<S: Serializer>(
                state: &$state,
                to: S,
            ) -> Result<S::Ok, S::Error> {
                to.serialize_str(state.as_str())
            }

            pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
                from: D,
            ) -> Result<$state, D::Error> {
                let name = String::deserialize(from)?;
                <$state>::parse(&name)
                    .ok_or_else(|| D::Error::invalid_value(Unexpected::Str(&name), &$expected))
            }
        }
    };
}

by_name!(request, overnight_domain::requests::RequestStatus, "the state of a request");
by_name!(batch, overnight_domain::batches::BatchStatus, "the state of a batch");
by_name!(event, overnight_domain::webhooks::EventKind, "the type of an event");
