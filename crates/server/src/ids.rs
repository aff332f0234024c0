//! Identifiers and chance, handed in: a seed replays a whole run.

use std::sync::{Mutex, MutexGuard, PoisonError};

use overnight_domain::ids::{Id, IdSequence};
use sha2::{Digest, Sha256};

/// Makes identifiers that rise strictly, and random bytes: from the system, or from a seed.
pub struct Ids(Mutex<Source>);

/// Draws kept from one call of the system's: a call for each identifier would cost more than the identifier.
const DRAWS_KEPT: usize = 64;

struct Source {
    sequence: IdSequence,
    seed: Option<[u8; 32]>,
    drawn: u64,
    kept: Vec<[u8; 32]>,
}

impl Ids {
    /// Chance from the operating system.
    pub fn from_system() -> Self {
        Self::new(None)
    }

    /// The same chance for the same seed. Never for keys that must stay secret.
    pub fn from_seed(seed: u64) -> Self {
        Self::new(Some(Sha256::digest(seed.to_le_bytes()).into()))
    }

    fn new(seed: Option<[u8; 32]>) -> Self {
        Self(Mutex::new(Source { sequence: IdSequence::default(), seed, drawn: 0, kept: Vec::new() }))
    }

    /// The next identifier at `now`, in milliseconds.
    pub fn next<K>(&self, now: i64) -> Id<K> {
        let mut source = self.source();
        let random = source.draw();
        source.sequence.next(now, u128::from_le_bytes(first_half(random)))
    }

    /// 256 random bits.
    pub fn random(&self) -> [u8; 32] {
        self.source().draw()
    }

    fn source(&self) -> MutexGuard<'_, Source> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Source {
    fn draw(&mut self) -> [u8; 32] {
        self.drawn += 1;
        match self.seed {
            Some(seed) => {
                Sha256::new().chain_update(seed).chain_update(self.drawn.to_le_bytes()).finalize().into()
            }
            None => self.kept.pop().unwrap_or_else(|| {
                let [first, rest @ ..] = system_random();
                self.kept = rest.into();
                first
            }),
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "the one place that asks the system for chance")]
fn system_random() -> [[u8; 32]; DRAWS_KEPT] {
    let mut draws = [[0; 32]; DRAWS_KEPT];
    if let Err(error) = getrandom::fill(draws.as_flattened_mut()) {
        panic!("the operating system gave no random bytes: {error}");
    }
    draws
}

fn first_half(bytes: [u8; 32]) -> [u8; 16] {
    let mut half = [0; 16];
    half.copy_from_slice(&bytes[..16]);
    half
}
