//! Checks whether a model file is whole, and its purpose: the header of a GGUF file has each tensor's offset, so a truncated download is
//! found without reading the data.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek};
use std::path::Path;

use overnight_domain::endpoints::Endpoint;
use thiserror::Error;

use self::blocks::block_of;
use self::numbers::Numbers;
use self::vocabulary::Tokens;

mod blocks;
mod numbers;
mod vocabulary;

/// The longest header, in bytes. Those of large vocabularies have about 20 MB.
const HEADER_BYTES_MAX: u64 = 256 << 20;

const MAGIC: &[u8; 4] = b"GGUF";
/// The versions that llama.cpp reads.
const VERSIONS: [u32; 2] = [2, 3];
const DIMENSIONS_MAX: u32 = 4;
/// The key of the tensors' alignment, and its default.
const ALIGNMENT_KEY: &[u8] = b"general.alignment";
const ALIGNMENT: u32 = 32;
/// The key of the architecture, whose name is the prefix of other keys and has no dot.
const ARCHITECTURE_KEY: &[u8] = b"general.architecture";
/// Architectures that the embedded engine does not serve; it has the same list.
const UNSERVED: [&[u8]; 6] = [b"t5", b"t5encoder", b"dream", b"llada", b"llada-moe", b"rnd1"];
/// The suffix, after the architecture, of the key of an embedding model's pooling.
const POOLING_KEY_END: &[u8] = b".pooling_type";
/// The suffix of the key that says whether a token sees only earlier ones, as in every model that generates.
const CAUSAL_KEY_END: &[u8] = b".attention.causal";
/// The keys of the list of tokens, of their types and of the tokenizer.
const TOKENS_KEY: &[u8] = b"tokenizer.ggml.tokens";
const TYPES_KEY: &[u8] = b"tokenizer.ggml.token_type";
const TOKENIZER_KEY: &[u8] = b"tokenizer.ggml.model";
/// llama.cpp's name of word pieces, which have no tokens of bytes, and its number for the type of such a token.
const WORD_PIECES: &[u8] = b"bert";
const BYTE_TYPE: u32 = 6;
/// Bytes of a key, and of an architecture's name.
const KEY_BYTES_MAX: u64 = 128;
/// llama.cpp's numbers for the mean, the first token and the last one.
const POOLINGS: [u32; 3] = [1, 2, 3];
/// Its number for a model that ranks.
const RANK: u32 = 4;

const UINT32: u32 = 4;
const INT32: u32 = 5;
const FLOAT32: u32 = 6;
const BOOL: u32 = 7;
const STRING: u32 = 8;
const ARRAY: u32 = 9;

/// Why a model file is unusable: the rest of a sentence about it.
#[derive(Debug, Error)]
pub enum ModelFileUnusable {
    #[error("cannot be read: {0}")]
    Unreadable(#[from] io::Error),
    /// It is a folder, a pipe or a device.
    #[error("is no file")]
    NoFile,
    #[error("is no GGUF file")]
    NoModel,
    /// llama.cpp does not read this version.
    #[error("is a GGUF file of version {0}; versions 2 and 3 can be used")]
    Version(u32),
    #[error("is cut short or damaged: it ends within its header")]
    HeaderCut,
    #[error("is damaged: its header is longer than {} MiB", HEADER_BYTES_MAX >> 20)]
    HeaderTooLong,
    /// The header contradicts itself.
    #[error("is damaged: {0}")]
    Damaged(&'static str),
    /// llama.cpp would end its process.
    #[error("is damaged: its {key} is {value}; llama.cpp takes {least} to {most}")]
    Number {
        /// Without the architecture.
        key: &'static str,
        value: u32,
        least: u32,
        most: u32,
    },
    /// The model compares texts with each other.
    #[error("is of a model that ranks texts, which the embedded engine does not serve")]
    Ranks,
    /// The embedded engine does not serve its architecture.
    #[error("is of a model of the architecture {0}, which the embedded engine does not serve")]
    Unserved(String),
    /// It neither generates nor has a pooling type.
    #[error("is of a model that does not write, and names no pooling type for embeddings")]
    Silent,
    /// It ends before its last tensor does.
    #[error("is cut short: it has {found} of {expected} bytes")]
    Cut {
        found: u64,
        /// The least length by its header.
        expected: u64,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelPurpose {
    Chat,
    Embeddings,
}

impl ModelPurpose {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::Embeddings => "embeddings",
        }
    }

    /// The embedded engine's endpoint for it.
    pub const fn endpoint(self) -> Endpoint {
        match self {
            Self::Chat => Endpoint::ChatCompletions,
            Self::Embeddings => Endpoint::Embeddings,
        }
    }
}

/// A relevant value of the header.
enum Said {
    Alignment(u32),
    Pooling(u32),
    IsCausal(bool),
    Number(usize, u32),
    WordPieces,
    ByteTokens,
    Unserved(String),
    Other,
}

/// Checks by its header that a model file is a whole GGUF file, and returns the model's purpose. Tensor data is not read: reads at most 256
/// MiB, whatever the file claims. Fails if llama.cpp could not load it.
pub fn check_model_file(path: &Path) -> Result<ModelPurpose, ModelFileUnusable> {
    // Checked first: reading a pipe would block.
    if !path.metadata()?.is_file() {
        return Err(ModelFileUnusable::NoFile);
    }
    let file = File::open(path)?;
    let length = file.metadata()?.len();
    check(file, length)
}

fn check(file: impl Read + Seek, length: u64) -> Result<ModelPurpose, ModelFileUnusable> {
    let mut header = Header { input: BufReader::new(file), at: 0, length };
    match header.bytes::<4>() {
        Ok(magic) if magic == *MAGIC => {}
        Ok(_) | Err(ModelFileUnusable::HeaderCut) => return Err(ModelFileUnusable::NoModel),
        Err(error) => return Err(error),
    }
    let version = header.u32()?;
    if !VERSIONS.contains(&version) {
        return Err(ModelFileUnusable::Version(version));
    }
    let (tensors, values) = (header.u64()?, header.u64()?);
    let (mut alignment, mut is_causal, mut purpose) = (ALIGNMENT, true, ModelPurpose::Chat);
    let (mut numbers, mut has_word_pieces, mut has_byte_tokens) = (Numbers::default(), false, false);
    for _ in 0..values {
        match header.value()? {
            Said::Alignment(given) => alignment = given,
            Said::Pooling(pooling) if POOLINGS.contains(&pooling) => purpose = ModelPurpose::Embeddings,
            Said::IsCausal(given) => is_causal = given,
            Said::Number(place, given) => numbers.set(place, given),
            Said::WordPieces => has_word_pieces = true,
            Said::ByteTokens => has_byte_tokens = true,
            Said::Unserved(name) => return Err(ModelFileUnusable::Unserved(name)),
            Said::Pooling(RANK) => return Err(ModelFileUnusable::Ranks),
            Said::Pooling(_) | Said::Other => {}
        }
    }
    if !is_causal && purpose == ModelPurpose::Chat {
        return Err(ModelFileUnusable::Silent);
    }
    numbers.check()?;
    if has_word_pieces && has_byte_tokens {
        let fault = "its vocabulary of word pieces has tokens of bytes (tokenizer.ggml.token_type)";
        return Err(ModelFileUnusable::Damaged(fault));
    }
    if !alignment.is_power_of_two() {
        return Err(ModelFileUnusable::Damaged("its alignment is no power of two"));
    }
    let mut data_bytes = 0;
    for _ in 0..tensors {
        data_bytes = data_bytes.max(header.tensor_end()?);
    }
    let data_at = if tensors == 0 { header.at } else { header.at.next_multiple_of(alignment.into()) };
    let expected = data_at.saturating_add(data_bytes);
    if expected > length {
        return Err(ModelFileUnusable::Cut { found: length, expected });
    }
    Ok(purpose)
}

struct Header<R> {
    input: BufReader<R>,
    at: u64,
    length: u64,
}

impl<R: Read + Seek> Header<R> {
    /// Skips so many bytes, which must exist.
    fn advance(&mut self, bytes: u64) -> Result<(), ModelFileUnusable> {
        let at = self.at.checked_add(bytes).filter(|at| *at <= self.length);
        self.at = at.ok_or(ModelFileUnusable::HeaderCut)?;
        if self.at > HEADER_BYTES_MAX {
            return Err(ModelFileUnusable::HeaderTooLong);
        }
        Ok(())
    }

    fn bytes<const N: usize>(&mut self) -> Result<[u8; N], ModelFileUnusable> {
        self.advance(N as u64)?;
        let mut bytes = [0; N];
        self.input.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    fn u32(&mut self) -> Result<u32, ModelFileUnusable> {
        Ok(u32::from_le_bytes(self.bytes()?))
    }

    fn u64(&mut self) -> Result<u64, ModelFileUnusable> {
        Ok(u64::from_le_bytes(self.bytes()?))
    }

    fn skip(&mut self, bytes: u64) -> Result<(), ModelFileUnusable> {
        self.advance(bytes)?;
        let bytes = i64::try_from(bytes).map_err(|_| ModelFileUnusable::HeaderTooLong)?;
        Ok(self.input.seek_relative(bytes)?)
    }

    fn skip_string(&mut self) -> Result<(), ModelFileUnusable> {
        let bytes = self.u64()?;
        self.skip(bytes)
    }

    /// Reads a key or a name; a long one is skipped and empty.
    fn short_string(&mut self) -> Result<Vec<u8>, ModelFileUnusable> {
        let length = self.u64()?;
        if length > KEY_BYTES_MAX {
            self.skip(length)?;
            return Ok(Vec::new());
        }
        self.advance(length)?;
        let mut key = Vec::new();
        self.input.by_ref().take(length).read_to_end(&mut key)?;
        Ok(key)
    }

    fn value(&mut self) -> Result<Said, ModelFileUnusable> {
        let key = self.short_string()?;
        let is_alignment = key == ALIGNMENT_KEY;
        let number = numbers::place_of(&key);
        match (self.u32()?, number) {
            (UINT32, Some(place)) => return Ok(Said::Number(place, self.u32()?)),
            (UINT32, _) if is_alignment => return self.u32().map(Said::Alignment),
            (UINT32 | INT32, _) if is_own(&key, POOLING_KEY_END) => return self.u32().map(Said::Pooling),
            (BOOL, _) if is_own(&key, CAUSAL_KEY_END) => {
                return Ok(Said::IsCausal(self.bytes::<1>()? != [0]));
            }
            (FLOAT32, _) if numbers::is_epsilon(&key) => {
                let epsilon = f32::from_le_bytes(self.bytes()?);
                if epsilon.is_nan() || epsilon < 0.0 {
                    return Err(ModelFileUnusable::Damaged("its epsilon of norms is less than 0"));
                }
            }
            (STRING, _) if key == TOKENIZER_KEY => {
                if self.short_string()? == WORD_PIECES {
                    return Ok(Said::WordPieces);
                }
            }
            (STRING, _) if key == ARCHITECTURE_KEY => {
                let name = self.short_string()?;
                if UNSERVED.contains(&&*name) {
                    return Ok(Said::Unserved(String::from_utf8_lossy(&name).into_owned()));
                }
            }
            _ if is_alignment => return Err(ModelFileUnusable::Damaged("its alignment is no number")),
            (ARRAY, _) => {
                let (kind, count) = (self.u32()?, self.u64()?);
                match kind {
                    STRING if key == TOKENS_KEY => self.check_tokens(count)?,
                    INT32 if key == TYPES_KEY => return self.types(count),
                    _ => self.skip_values(kind, count)?,
                }
            }
            (kind, _) => self.skip_values(kind, 1)?,
        }
        Ok(Said::Other)
    }

    fn check_tokens(&mut self, count: u64) -> Result<(), ModelFileUnusable> {
        Tokens::check_count(count)?;
        let (mut tokens, mut token) = (Tokens::default(), Vec::new());
        for number in 0..count {
            let length = self.u64()?;
            self.advance(length)?;
            token.resize(Tokens::check_length(length)?, 0);
            self.input.read_exact(&mut token)?;
            tokens.add(number, &token)?;
        }
        Ok(())
    }

    fn types(&mut self, count: u64) -> Result<Said, ModelFileUnusable> {
        Tokens::check_count(count)?;
        let (bytes, mut types) = (4 * count, Vec::new());
        self.advance(bytes)?;
        self.input.by_ref().take(bytes).read_to_end(&mut types)?;
        let has_byte_tokens = types.chunks_exact(4).any(|kind| kind == BYTE_TYPE.to_le_bytes());
        Ok(if has_byte_tokens { Said::ByteTokens } else { Said::Other })
    }

    fn skip_values(&mut self, kind: u32, count: u64) -> Result<(), ModelFileUnusable> {
        let bytes = match kind {
            0 | 1 | 7 => 1,
            2 | 3 => 2,
            4..=6 => 4,
            10..=12 => 8,
            STRING => {
                for _ in 0..count {
                    self.skip_string()?;
                }
                return Ok(());
            }
            _ => return Err(ModelFileUnusable::Damaged("a value has an unknown type")),
        };
        self.skip(count.checked_mul(bytes).ok_or(ModelFileUnusable::HeaderCut)?)
    }

    /// Reads a tensor's offset. Returns its end, in bytes after the beginning of the tensors.
    fn tensor_end(&mut self) -> Result<u64, ModelFileUnusable> {
        const SHAPE: ModelFileUnusable = ModelFileUnusable::Damaged("a tensor has an impossible shape");
        self.skip_string()?;
        let dimensions = self.u32()?;
        if dimensions > DIMENSIONS_MAX {
            return Err(SHAPE);
        }
        let mut elements: u64 = 1;
        let mut row = 1;
        for dimension in 0..dimensions {
            let size = self.u64()?;
            row = if dimension == 0 { size } else { row };
            elements = elements.checked_mul(size).ok_or(SHAPE)?;
        }
        let block = block_of(self.u32()?);
        let offset = self.u64()?;
        // For an unknown type, only the beginning is known.
        let Some((block_elements, block_bytes)) = block else { return Ok(offset) };
        if row % block_elements != 0 {
            return Err(SHAPE);
        }
        let bytes = (elements / block_elements).checked_mul(block_bytes).ok_or(SHAPE)?;
        offset.checked_add(bytes).ok_or(SHAPE)
    }
}

/// Whether a key is an architecture with this suffix.
fn is_own(key: &[u8], end: &[u8]) -> bool {
    key.strip_suffix(end).is_some_and(|architecture| !architecture.contains(&b'.'))
}

#[cfg(test)]
mod tests;
