//! The secret of a sign-in, which only the browser that began it knows.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

/// 256 random bits, from which the state, the nonce and the PKCE verifier of a sign-in are derived. None of them reveals another.
pub struct SignInSecret([u8; 32]);

impl SignInSecret {
    pub const fn new(bits: [u8; 32]) -> Self {
        Self(bits)
    }

    /// Reads what [`SignInSecret::text`] wrote.
    pub fn parse(text: &str) -> Option<Self> {
        let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
        bytes.try_into().ok().map(Self)
    }

    pub fn text(&self) -> String {
        URL_SAFE_NO_PAD.encode(self.0)
    }

    /// Whether `state` belongs to this sign-in.
    pub fn is_state(&self, state: &str) -> bool {
        self.state().as_bytes().ct_eq(state.as_bytes()).into()
    }

    pub(super) fn state(&self) -> String {
        self.derived("state")
    }

    pub(super) fn nonce(&self) -> String {
        self.derived("nonce")
    }

    /// The code verifier of PKCE: 43 characters.
    pub(super) fn verifier(&self) -> String {
        self.derived("verifier")
    }

    fn derived(&self, what: &str) -> String {
        URL_SAFE_NO_PAD.encode(Sha256::new().chain_update(self.0).chain_update(what).finalize())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_secret_has_its_own_and_reads_back() {
        let (one, other) = (SignInSecret::new([7; 32]), SignInSecret::new([8; 32]));
        let of = |secret: &SignInSecret| [secret.state(), secret.nonce(), secret.verifier(), secret.text()];
        let mut all = [of(&one), of(&other)].concat();
        assert!(all.iter().all(|text| text.len() == 43));
        all.sort();
        all.dedup();
        assert_eq!(all.len(), 8);
        let again = SignInSecret::parse(&one.text()).expect("a secret");
        assert!(again.is_state(&one.state()) && !again.is_state(&other.state()) && !again.is_state(""));
        assert!(SignInSecret::parse("").is_none() && SignInSecret::parse(&one.text()[1..]).is_none());
    }
}
