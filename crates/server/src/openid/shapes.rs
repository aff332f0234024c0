//! The shapes of what the provider sends: those of the specification, with the names of [`super::keys`] and what some providers
//! say besides.

use openidconnect::core::{
    CoreAuthDisplay, CoreAuthPrompt, CoreClaimName, CoreClaimType, CoreClientAuthMethod,
    CoreErrorResponseType, CoreGenderClaim, CoreGrantType, CoreJweContentEncryptionAlgorithm,
    CoreJweKeyManagementAlgorithm, CoreResponseMode, CoreResponseType, CoreRevocableToken,
    CoreRevocationErrorResponse, CoreSubjectIdentifierType, CoreTokenIntrospectionResponse, CoreTokenType,
};
use openidconnect::{
    AdditionalClaims, AdditionalProviderMetadata, EmptyExtraTokenFields, EndpointMaybeSet, EndpointNotSet,
    EndpointSet, IdTokenFields, JsonWebKeySet, ProviderMetadata, StandardErrorResponse,
    StandardTokenResponse,
};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::keys::{Algorithm, Key};

pub(super) type Client = openidconnect::Client<
    MoreClaims,
    CoreAuthDisplay,
    CoreGenderClaim,
    CoreJweContentEncryptionAlgorithm,
    Key,
    CoreAuthPrompt,
    StandardErrorResponse<CoreErrorResponseType>,
    StandardTokenResponse<
        IdTokenFields<
            MoreClaims,
            EmptyExtraTokenFields,
            CoreGenderClaim,
            CoreJweContentEncryptionAlgorithm,
            Algorithm,
        >,
        CoreTokenType,
    >,
    CoreTokenIntrospectionResponse,
    CoreRevocableToken,
    CoreRevocationErrorResponse,
    EndpointSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointMaybeSet,
    EndpointMaybeSet,
>;

/// What the provider says of itself.
pub(super) type Metadata = ProviderMetadata<
    MoreMetadata,
    CoreAuthDisplay,
    CoreClientAuthMethod,
    CoreClaimName,
    CoreClaimType,
    CoreGrantType,
    CoreJweContentEncryptionAlgorithm,
    CoreJweKeyManagementAlgorithm,
    Key,
    CoreResponseMode,
    CoreResponseType,
    CoreSubjectIdentifierType,
>;

pub(super) type Keys = JsonWebKeySet<Key>;

/// What it says of somebody who signed in.
pub(super) type IdToken =
    openidconnect::IdToken<MoreClaims, CoreGenderClaim, CoreJweContentEncryptionAlgorithm, Algorithm>;

/// What stands in an ID token.
pub(super) type IdTokenClaims = openidconnect::IdTokenClaims<MoreClaims, CoreGenderClaim>;

/// What it says of somebody when it is asked.
pub(super) type UserInfoClaims = openidconnect::UserInfoClaims<MoreClaims, CoreGenderClaim>;

/// What the specification of discovery does not name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct MoreMetadata {
    /// Whether it says who it is when it sends a browser back. <https://www.rfc-editor.org/rfc/rfc9207>
    #[serde(default)]
    pub(super) authorization_response_iss_parameter_supported: bool,
}

impl AdditionalProviderMetadata for MoreMetadata {}

/// What the specification of ID tokens does not name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct MoreClaims {
    /// Whether the owner of the e-mail address's domain is verified, as Microsoft Entra ID has it.
    #[serde(default, deserialize_with = "truth")]
    pub(super) xms_edov: Option<bool>,
}

impl AdditionalClaims for MoreClaims {}

/// Entra writes this claim in several ways. What is none of them, and is there, says no.
fn truth<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<bool>, D::Error> {
    Ok(match Value::deserialize(deserializer)? {
        Value::Null => None,
        Value::Bool(is_so) => Some(is_so),
        Value::Number(number) => Some(number.as_u64() == Some(1)),
        Value::String(text) => Some(text == "1" || text.eq_ignore_ascii_case("true")),
        Value::Array(_) | Value::Object(_) => Some(false),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn entra_says_in_several_ways_that_an_address_is_verified() {
        let read = |value: Value| {
            let claims: MoreClaims = serde_json::from_value(json!({"xms_edov": value})).unwrap();
            claims.xms_edov
        };
        for yes in [json!(true), json!(1), json!("1"), json!("true"), json!("True")] {
            assert_eq!(read(yes.clone()), Some(true), "{yes}");
        }
        for no in
            [json!(false), json!(0), json!(2), json!(1.5), json!("0"), json!("yes"), json!([1]), json!({})]
        {
            assert_eq!(read(no.clone()), Some(false), "{no}");
        }
        assert_eq!(read(json!(null)), None);
        assert_eq!(serde_json::from_value::<MoreClaims>(json!({})).unwrap().xms_edov, None);
    }
}
