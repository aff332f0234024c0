//! Injected identifiers and randomness: a seed replays a whole run.

use std::sync::{Mutex, MutexGuard, PoisonError};

use overnight_domain::ids::{Id, IdSequence};
use sha2::{Digest, Sha256};

/// Makes strictly rising identifiers, and random bytes: from the system, or from a seed.
pub struct Ids(Mutex<Source>);

/// Draws that are fetched together from the system: a call for each would cost more than the identifier.
const DRAWS_KEPT: usize = 128;

struct Source {
    sequence: IdSequence,
    chance: Chance,
}

enum Chance {
    System { kept: Vec<[u8; 16]> },
    Seeded { seed: [u8; 32], drawn: u64 },
}

impl Ids {
    pub fn from_system() -> Self {
        Self::new(Chance::System { kept: Vec::new() })
    }

    /// The same randomness for the same seed. Never for keys that must stay secret.
    pub fn from_seed(seed: u64) -> Self {
        Self::new(Chance::Seeded { seed: Sha256::digest(seed.to_le_bytes()).into(), drawn: 0 })
    }

    fn new(chance: Chance) -> Self {
        Self(Mutex::new(Source { sequence: IdSequence::default(), chance }))
    }

    /// `now` is in milliseconds.
    pub fn next<K>(&self, now: i64) -> Id<K> {
        let mut source = self.source();
        let random = source.chance.draw_half();
        source.sequence.next(now, u128::from_le_bytes(random))
    }

    /// 256 random bits.
    pub fn random(&self) -> [u8; 32] {
        self.source().chance.draw()
    }

    fn source(&self) -> MutexGuard<'_, Source> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Chance {
    fn draw(&mut self) -> [u8; 32] {
        match self {
            Self::System { .. } => {
                let mut draw = [0; 32];
                fill_from_system(&mut draw);
                draw
            }
            Self::Seeded { seed, drawn } => {
                *drawn += 1;
                Sha256::new().chain_update(seed).chain_update(drawn.to_le_bytes()).finalize().into()
            }
        }
    }

    fn draw_half(&mut self) -> [u8; 16] {
        let Self::System { kept } = self else { return first_half(self.draw()) };
        if kept.is_empty() {
            kept.resize(DRAWS_KEPT, [0; 16]);
            fill_from_system(kept.as_flattened_mut());
        }
        kept.pop().unwrap_or_default()
    }
}

#[expect(clippy::disallowed_methods, reason = "the one place that asks the system for chance")]
fn fill_from_system(bytes: &mut [u8]) {
    if let Err(error) = getrandom::fill(bytes) {
        panic!("the operating system gave no random bytes: {error}");
    }
}

fn first_half(bytes: [u8; 32]) -> [u8; 16] {
    let mut half = [0; 16];
    half.copy_from_slice(&bytes[..16]);
    half
}
