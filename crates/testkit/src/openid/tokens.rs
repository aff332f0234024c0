//! JSON Web Tokens, built by hand. <https://www.rfc-editor.org/rfc/rfc7519>

use std::io;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, Mac};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair};
use serde_json::{Value, json};
use sha2::Sha256;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyKind {
    Es256,
    /// Ed25519 by its older name, `EdDSA`.
    EdDsa,
    /// Ed25519 by the name of RFC 9864, `Ed25519`.
    Ed25519,
}

#[derive(Debug)]
pub(super) struct SigningKey {
    kind: KeyKind,
    name: &'static str,
    pair: Pair,
}

#[derive(Debug)]
enum Pair {
    Ecdsa(EcdsaKeyPair),
    Edwards(Ed25519KeyPair),
}

impl SigningKey {
    pub(super) fn new(kind: KeyKind, name: &'static str) -> io::Result<Self> {
        let random = SystemRandom::new();
        let unmade = |_| io::Error::other("no key can be made");
        let unread = |_| io::Error::other("a key that was made cannot be read");
        let pair = match kind {
            KeyKind::Es256 => {
                let algorithm = &ECDSA_P256_SHA256_FIXED_SIGNING;
                let document = EcdsaKeyPair::generate_pkcs8(algorithm, &random).map_err(unmade)?;
                Pair::Ecdsa(EcdsaKeyPair::from_pkcs8(algorithm, document.as_ref(), &random).map_err(unread)?)
            }
            KeyKind::EdDsa | KeyKind::Ed25519 => {
                let document = Ed25519KeyPair::generate_pkcs8(&random).map_err(unmade)?;
                Pair::Edwards(Ed25519KeyPair::from_pkcs8(document.as_ref()).map_err(unread)?)
            }
        };
        Ok(Self { kind, name, pair })
    }

    const fn algorithm(&self) -> &'static str {
        match self.kind {
            KeyKind::Es256 => "ES256",
            KeyKind::EdDsa => "EdDSA",
            KeyKind::Ed25519 => "Ed25519",
        }
    }

    pub(super) fn public(&self) -> Value {
        let (kid, alg) = (self.name, self.algorithm());
        match &self.pair {
            Pair::Ecdsa(pair) => {
                // The first byte says "uncompressed"; the two coordinates follow.
                let (x, y) = pair.public_key().as_ref()[1..].split_at(32);
                let (x, y) = (URL_SAFE_NO_PAD.encode(x), URL_SAFE_NO_PAD.encode(y));
                json!({"kty": "EC", "crv": "P-256", "use": "sig", "alg": alg, "kid": kid, "x": x, "y": y})
            }
            Pair::Edwards(pair) => {
                let x = URL_SAFE_NO_PAD.encode(pair.public_key());
                json!({"kty": "OKP", "crv": "Ed25519", "use": "sig", "alg": alg, "kid": kid, "x": x})
            }
        }
    }

    pub(super) fn sign(&self, claims: &Value) -> io::Result<String> {
        let text = text(&json!({"alg": self.algorithm(), "typ": "JWT", "kid": self.name}), claims);
        let signature = match &self.pair {
            Pair::Ecdsa(pair) => {
                let signature = pair.sign(&SystemRandom::new(), text.as_bytes());
                URL_SAFE_NO_PAD.encode(signature.map_err(|_| io::Error::other("nothing can be signed"))?)
            }
            Pair::Edwards(pair) => URL_SAFE_NO_PAD.encode(pair.sign(text.as_bytes())),
        };
        Ok(format!("{text}.{signature}"))
    }
}

pub(super) fn unsigned(claims: &Value) -> String {
    format!("{}.", text(&json!({"alg": "none", "typ": "JWT"}), claims))
}

/// Signs with a shared secret.
pub(super) fn signed_with(secret: &str, claims: &Value) -> io::Result<String> {
    let text = text(&json!({"alg": "HS256", "typ": "JWT"}), claims);
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).map_err(io::Error::other)?;
    mac.update(text.as_bytes());
    Ok(format!("{text}.{}", URL_SAFE_NO_PAD.encode(mac.finalize().into_bytes())))
}

fn text(head: &Value, claims: &Value) -> String {
    [head, claims].map(|part| URL_SAFE_NO_PAD.encode(part.to_string())).join(".")
}
