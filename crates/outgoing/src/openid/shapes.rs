//! The provider's messages: those of the specification, with the names of [`super::keys`] and extensions of some providers.

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

pub(super) type IdToken =
    openidconnect::IdToken<MoreClaims, CoreGenderClaim, CoreJweContentEncryptionAlgorithm, Algorithm>;

pub(super) type IdTokenClaims = openidconnect::IdTokenClaims<MoreClaims, CoreGenderClaim>;

pub(super) type UserInfoClaims = openidconnect::UserInfoClaims<MoreClaims, CoreGenderClaim>;

/// Metadata outside the specification of discovery.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct MoreMetadata {
    /// Whether the provider identifies itself when it returns a browser. <https://www.rfc-editor.org/rfc/rfc9207>
    #[serde(default)]
    pub(super) authorization_response_iss_parameter_supported: bool,
}

impl AdditionalProviderMetadata for MoreMetadata {}

/// Claims outside the specification of ID tokens.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct MoreClaims {
    /// Whether the owner of the e-mail address's domain is verified (Microsoft Entra ID).
    #[serde(default, deserialize_with = "truth")]
    pub(super) xms_edov: Option<bool>,
    /// The second from which on the token is valid (RFC 7519).
    #[serde(default)]
    pub(super) nbf: Option<f64>,
}

impl AdditionalClaims for MoreClaims {}

/// Entra writes this claim in several ways. Any other value counts as false.
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
