//! A prompt as the prefix cache of an engine keeps it: block by block, each known by everything up to its end.

/// From one block's end to the next, in bytes of the stream, by how far the block's start is: fine where prompts begin to differ,
/// coarse where they are long.
const BLOCK_BYTES: [(usize, usize); 4] =
    [(1 << 10, 128), (4 << 10, 256), (32 << 10, 1 << 10), (usize::MAX, 4 << 10)];

/// What is behind so many blocks, a megabyte, is one more.
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
    /// Each of them, from the first on.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &PromptBlock> {
        self.0.iter()
    }

    /// The length of all of them, in bytes of the stream.
    pub fn bytes(&self) -> usize {
        self.iter().map(|block| block.bytes).sum()
    }
}

/// Blocks while the stream is read.
#[derive(Debug, Default)]
pub(super) struct BlockRecorder {
    ended: Vec<PromptBlock>,
    /// Where the open block starts.
    start: usize,
    /// Of the open block.
    bytes: usize,
}

impl BlockRecorder {
    /// Bytes up to the end of the open block.
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

    /// So many bytes more, fewer than there is room for.
    pub(super) fn grow(&mut self, bytes: usize) {
        self.bytes += bytes;
    }

    /// The open block is full; `prefix` is the hash of the stream up to here.
    pub(super) fn end(&mut self, prefix: u64) {
        let bytes = self.bytes + self.room();
        self.start += bytes;
        self.bytes = 0;
        self.ended.push(PromptBlock { prefix, bytes });
    }

    /// The stream has ended.
    pub(super) fn finish(mut self, prefix: u64) -> PromptBlocks {
        if self.bytes > 0 {
            self.ended.push(PromptBlock { prefix, bytes: self.bytes });
        }
        PromptBlocks(self.ended.into())
    }
}
