//! ID tokens: JSON Web Tokens, put together by hand. <https://www.rfc-editor.org/rfc/rfc7519>

use std::io;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, Mac};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use serde_json::{Value, json};
use sha2::Sha256;

/// A key of ES256 and its name.
#[derive(Debug)]
pub(super) struct SigningKey {
    name: &'static str,
    pair: EcdsaKeyPair,
}

impl SigningKey {
    /// A new key.
    pub(super) fn new(name: &'static str) -> io::Result<Self> {
        let random = SystemRandom::new();
        let unmade = |_| io::Error::other("no key can be made");
        let document =
            EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).map_err(unmade)?;
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, document.as_ref(), &random)
            .map_err(|_| io::Error::other("a key that was made cannot be read"))?;
        Ok(Self { name, pair })
    }

    /// As everybody may see it.
    pub(super) fn public(&self) -> Value {
        // A byte that says "uncompressed", and the two coordinates.
        let point = self.pair.public_key().as_ref();
        let (x, y) = point[1..].split_at(32);
        json!({
            "kty": "EC", "crv": "P-256", "use": "sig", "alg": "ES256", "kid": self.name,
            "x": URL_SAFE_NO_PAD.encode(x), "y": URL_SAFE_NO_PAD.encode(y),
        })
    }

    /// A token with these claims.
    pub(super) fn sign(&self, claims: &Value) -> io::Result<String> {
        let text = text(&json!({"alg": "ES256", "typ": "JWT", "kid": self.name}), claims);
        let signature = self.pair.sign(&SystemRandom::new(), text.as_bytes());
        let signature = signature.map_err(|_| io::Error::other("nothing can be signed"))?;
        Ok(format!("{text}.{}", URL_SAFE_NO_PAD.encode(signature)))
    }
}

/// A token with these claims that nobody signed.
pub(super) fn unsigned(claims: &Value) -> String {
    format!("{}.", text(&json!({"alg": "none", "typ": "JWT"}), claims))
}

/// A token with these claims, signed with a secret that two have.
pub(super) fn signed_with(secret: &str, claims: &Value) -> io::Result<String> {
    let text = text(&json!({"alg": "HS256", "typ": "JWT"}), claims);
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).map_err(io::Error::other)?;
    mac.update(text.as_bytes());
    Ok(format!("{text}.{}", URL_SAFE_NO_PAD.encode(mac.finalize().into_bytes())))
}

fn text(head: &Value, claims: &Value) -> String {
    [head, claims].map(|part| URL_SAFE_NO_PAD.encode(part.to_string())).join(".")
}
