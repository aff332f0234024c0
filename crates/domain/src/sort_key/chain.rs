//! A keyed hash of a stream that yields two bytes of key at each cut: SipHash-1-3 (J.-P. Aumasson, D. J. Bernstein, "SipHash: a fast
//! short-input PRF", 2012). A cryptographic hash is not needed: clients see only the order of their own requests.

use std::hash::Hasher;

use siphasher::sip::SipHasher13;

use super::SortKey;
use super::blocks::{BlockRecorder, PromptBlocks};

/// Two prefixes that differ agree here once in 65,536 times, and then are distinguished by the next cut.
pub(super) const CUT_BYTES: usize = 2;

/// Bytes after a message end to its first inner cut; each next one is twice as far.
const FIRST_CUT_AT: usize = 256;

/// Bytes after a message end to its last inner cut.
const LAST_CUT_AT: usize = 64 << 10;

/// Minimum distance of cuts, by how many there have been: the first half of the key goes to every end and doubling, so that a head of many
/// short messages leaves some of the rest to later text.
const GAPS: [(usize, usize); 3] = [(32, 0), (48, 512), (usize::MAX, 4 << 10)];

/// The stream so far: its hash, the key of its cuts, and its blocks if they are recorded.
pub(super) struct Chain {
    hash: SipHasher13,
    key: [u8; SortKey::MAX_BYTES],
    key_length: usize,
    since_end: usize,
    since_cut: usize,
    next_cut_at: usize,
    blocks: Option<BlockRecorder>,
}

impl Chain {
    /// An empty stream under `secret`, whose first half is the key of the hash and whose second half begins the stream.
    pub(super) fn new(secret: &[u8; 32]) -> Self {
        let mut key = [0; 16];
        let (first, second) = secret.split_at(key.len());
        key.copy_from_slice(first);
        let mut hash = SipHasher13::new_with_key(&key);
        hash.write(second);
        let key = [0; SortKey::MAX_BYTES];
        Self { hash, key, key_length: 0, since_end: 0, since_cut: 0, next_cut_at: FIRST_CUT_AT, blocks: None }
    }

    pub(super) fn with_blocks(secret: &[u8; 32]) -> Self {
        Self { blocks: Some(BlockRecorder::default()), ..Self::new(secret) }
    }

    /// Appends `bytes` to the stream, with the inner cuts within them.
    pub(super) fn absorb(&mut self, mut bytes: &[u8]) {
        while !self.is_full() && self.since_end + bytes.len() >= self.next_cut_at {
            let (head, tail) = bytes.split_at(self.next_cut_at - self.since_end);
            self.write(head);
            self.next_cut_at = if self.next_cut_at < LAST_CUT_AT { self.next_cut_at * 2 } else { usize::MAX };
            self.cut();
            bytes = tail;
        }
        if !self.is_complete() {
            self.write(bytes);
        }
    }

    fn write(&mut self, mut bytes: &[u8]) {
        self.since_end += bytes.len();
        self.since_cut += bytes.len();
        while let Some(blocks) = &mut self.blocks
            && let Some((head, tail)) = bytes.split_at_checked(blocks.room())
        {
            self.hash.write(head);
            blocks.end(self.hash.finish());
            bytes = tail;
        }
        self.hash.write(bytes);
        if let Some(blocks) = &mut self.blocks {
            blocks.grow(bytes.len());
        }
    }

    pub(super) fn cut_at_end(&mut self) {
        if !self.is_full() {
            self.cut();
        }
        self.begin_message();
    }

    /// Counts inner cuts from here.
    pub(super) fn begin_message(&mut self) {
        self.since_end = 0;
        self.next_cut_at = FIRST_CUT_AT;
    }

    /// Whether further bytes no longer count.
    pub(super) fn is_complete(&self) -> bool {
        self.is_full() && self.blocks.is_none()
    }

    fn is_full(&self) -> bool {
        self.key_length == SortKey::MAX_BYTES
    }

    /// The blocks of the whole stream; empty if they were not recorded.
    pub(super) fn take_blocks(&mut self) -> PromptBlocks {
        let end = self.hash.finish();
        self.blocks.take().map(|blocks| blocks.finish(end)).unwrap_or_default()
    }

    pub(super) fn key(&self) -> &[u8] {
        &self.key[..self.key_length]
    }

    fn cut(&mut self) {
        let cuts = self.key_length / CUT_BYTES;
        let gap = GAPS.iter().find(|(below, _)| cuts < *below).map_or(0, |(_, gap)| *gap);
        if self.since_cut < gap {
            return;
        }
        self.since_cut = 0;
        let digest = self.hash.finish().to_le_bytes();
        self.key[self.key_length..self.key_length + CUT_BYTES].copy_from_slice(&digest[..CUT_BYTES]);
        self.key_length += CUT_BYTES;
    }
}
