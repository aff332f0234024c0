//! The provider's signing keys, and the names of the algorithms. The token library knows Ed25519 only as `EdDSA`; RFC 9864 names it
//! `Ed25519`, and both are the same here.

use openidconnect::core::{
    CoreJsonWebKey, CoreJsonWebKeyType, CoreJsonWebKeyUse, CoreJwsSigningAlgorithm as Known,
};
use openidconnect::{
    JsonWebKey, JsonWebKeyAlgorithm, JsonWebKeyId, JwsSigningAlgorithm, SignatureVerificationError,
};
use serde::de::{Deserializer, Error as _, IntoDeserializer};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The name of RFC 9864, and the older one.
const ED25519: (&str, &str) = ("Ed25519", "EdDSA");

/// Accepted signature algorithms. None uses the client's secret: every holder of it could sign.
const ALLOWED: [Known; 9] = [
    Known::RsaSsaPkcs1V15Sha256,
    Known::RsaSsaPkcs1V15Sha384,
    Known::RsaSsaPkcs1V15Sha512,
    Known::RsaSsaPssSha256,
    Known::RsaSsaPssSha384,
    Known::RsaSsaPssSha512,
    Known::EcdsaP256Sha256,
    Known::EcdsaP384Sha384,
    Known::EdDsa,
];

/// A signature algorithm, by any of its names.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(transparent)]
pub(super) struct Algorithm(Known);

impl Algorithm {
    pub(super) fn allowed() -> [Self; 9] {
        ALLOWED.map(Self)
    }

    pub(super) fn is_allowed(&self) -> bool {
        ALLOWED.contains(&self.0)
    }
}

impl<'de> Deserialize<'de> for Algorithm {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        let name = if name == ED25519.0 { ED25519.1 } else { name.as_str() };
        Known::deserialize(name.into_deserializer()).map(Self)
    }
}

impl JwsSigningAlgorithm for Algorithm {
    type KeyType = CoreJsonWebKeyType;

    fn key_type(&self) -> Option<CoreJsonWebKeyType> {
        self.0.key_type()
    }

    fn uses_shared_secret(&self) -> bool {
        self.0.uses_shared_secret()
    }

    fn rsa_sha_256() -> Self {
        Self(Known::rsa_sha_256())
    }
}

#[derive(Clone, Debug)]
pub(super) struct Key {
    known: CoreJsonWebKey,
    /// The only algorithm of the key, if it has one.
    algorithm: Option<Algorithm>,
}

impl From<CoreJsonWebKey> for Key {
    fn from(known: CoreJsonWebKey) -> Self {
        let algorithm = match known.signing_alg() {
            JsonWebKeyAlgorithm::Algorithm(algorithm) => Some(Algorithm(algorithm.clone())),
            JsonWebKeyAlgorithm::Unspecified | JsonWebKeyAlgorithm::Unsupported => None,
        };
        Self { known, algorithm }
    }
}

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut members = Map::deserialize(deserializer)?;
        if let Some(name) = members.get_mut("alg").filter(|name| *name == ED25519.0) {
            *name = ED25519.1.into();
        }
        let known: CoreJsonWebKey =
            serde_json::from_value(Value::Object(members)).map_err(D::Error::custom)?;
        Ok(known.into())
    }
}

impl Serialize for Key {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.known.serialize(serializer)
    }
}

impl JsonWebKey for Key {
    type KeyUse = CoreJsonWebKeyUse;
    type SigningAlgorithm = Algorithm;

    fn key_id(&self) -> Option<&JsonWebKeyId> {
        self.known.key_id()
    }

    fn key_type(&self) -> &CoreJsonWebKeyType {
        self.known.key_type()
    }

    fn key_use(&self) -> Option<&CoreJsonWebKeyUse> {
        self.known.key_use()
    }

    fn signing_alg(&self) -> JsonWebKeyAlgorithm<&Algorithm> {
        match (self.known.signing_alg(), &self.algorithm) {
            (JsonWebKeyAlgorithm::Algorithm(_), Some(algorithm)) => JsonWebKeyAlgorithm::Algorithm(algorithm),
            (JsonWebKeyAlgorithm::Unspecified, _) => JsonWebKeyAlgorithm::Unspecified,
            _ => JsonWebKeyAlgorithm::Unsupported,
        }
    }

    fn new_symmetric(key: Vec<u8>) -> Self {
        CoreJsonWebKey::new_symmetric(key).into()
    }

    fn verify_signature(
        &self,
        algorithm: &Algorithm,
        message: &[u8],
        signature: &[u8],
    ) -> Result<(), SignatureVerificationError> {
        self.known.verify_signature(&algorithm.0, message, signature)
    }

    fn hash_bytes(&self, bytes: &[u8], algorithm: &Algorithm) -> Result<Vec<u8>, String> {
        self.known.hash_bytes(bytes, &algorithm.0)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn ed25519_has_two_names_and_means_one() {
        let named = |name: &str| serde_json::from_value::<Algorithm>(json!(name));
        assert_eq!(named("Ed25519").unwrap(), named("EdDSA").unwrap());
        assert!(named("Ed25519").unwrap().is_allowed() && !named("HS256").unwrap().is_allowed());
        assert!(named("ed25519").is_err() && named("Ed448").is_err());
        for name in ["Ed25519", "EdDSA"] {
            let key =
                json!({"kty": "OKP", "crv": "Ed25519", "alg": name, "use": "sig", "kid": "k", "x": "AA"});
            let key: Key = serde_json::from_value(key).unwrap();
            let JsonWebKeyAlgorithm::Algorithm(algorithm) = key.signing_alg() else { panic!("{key:?}") };
            assert_eq!(algorithm, &named("EdDSA").unwrap());
        }
    }
}
