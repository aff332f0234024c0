//! A prompt as the prefix cache of an engine keeps it: block by block, each identified by everything up to its end.

/// The distance of block ends, in bytes of the stream, by the start of the block: fine where prompts begin to differ, coarse where they are
/// long.
const BLOCK_BYTES: [(usize, usize); 4] =
    [(1 << 10, 128), (4 << 10, 256), (32 << 10, 1 << 10), (usize::MAX, 4 << 10)];

/// Everything behind so many blocks, a megabyte, is one more.
const BLOCKS_MAX: usize = 300;

/// A piece of a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PromptBlock {
    /// A hash of everything up to its end: equal for equal prefixes.
    pub prefix: u64,
    /// Its length in bytes of the stream.
    pub bytes: usize,
}

/// The blocks of a prompt, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PromptBlocks(Box<[PromptBlock]>);

impl PromptBlocks {
    /// The blocks, from the first on.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &PromptBlock> {
        self.0.iter()
    }

    /// The length of all of them, in bytes of the stream.
    pub fn bytes(&self) -> usize {
        self.iter().map(|block| block.bytes).sum()
    }
}

#[derive(Debug, Default)]
pub(super) struct BlockRecorder {
    ended: Vec<PromptBlock>,
    /// Of the open block.
    start: usize,
    bytes: usize,
}

impl BlockRecorder {
    pub(super) fn room(&self) -> usize {
        if self.ended.len() >= BLOCKS_MAX {
            return usize::MAX;
        }
        let length = BLOCK_BYTES
            .iter()
            .find(|(below, _)| self.start < *below)
            .map_or(usize::MAX, |(_, length)| *length);
        length - self.bytes
    }

    pub(super) fn grow(&mut self, bytes: usize) {
        self.bytes += bytes;
    }

    /// Ends the open block; `prefix` is the hash of the stream up to here.
    pub(super) fn end(&mut self, prefix: u64) {
        let bytes = self.bytes + self.room();
        self.start += bytes;
        self.bytes = 0;
        self.ended.push(PromptBlock { prefix, bytes });
    }

    pub(super) fn finish(mut self, prefix: u64) -> PromptBlocks {
        if self.bytes > 0 {
            self.ended.push(PromptBlock { prefix, bytes: self.bytes });
        }
        PromptBlocks(self.ended.into())
    }
}
