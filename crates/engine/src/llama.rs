//! The model over llama.cpp: the only file that knows it.
//!
//! llama.cpp ends the process on numbers out of range, so everything is checked before: lengths by the callers against [`Capacity`],
//! numbers here.

mod devices;
mod embedder;
mod purpose;
mod stretches;

use std::{
    fs::{self, File},
    io::Read,
    num::NonZeroU32,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use llama_cpp_2::{
    context::{LlamaContext, params::LlamaContextParams},
    llama_backend::LlamaBackend,
    llama_batch::LlamaBatch,
    model::{LlamaModel, params::LlamaModelParams},
    token::LlamaToken,
    token_type::LlamaTokenAttr,
};

pub use self::{devices::Devices, embedder::LlamaEmbedder, purpose::Purpose};
use self::{purpose::Metadata, stretches::Stretches};
use crate::{
    attention::{self, Heads},
    cpu, memory,
    model::{BatchEntry, Capacity, DecodeFailed, Decoder, STEP_TOKENS_MAX, Token, Vocabulary},
};

#[derive(Clone, Debug)]
pub struct Settings {
    pub path: PathBuf,
    pub threads: usize,
    pub parallel: usize,
    /// Tokens that one request may hold; bounded by the model's training context.
    pub context: usize,
    /// Layers that GPUs compute; `None`: all.
    pub gpu_layers: Option<u32>,
}

/// Why a model cannot be used, as a sentence.
#[derive(Debug, thiserror::Error)]
#[error("the model {path} cannot be used: {reason}")]
pub struct LoadFailed {
    path: PathBuf,
    reason: String,
}

/// Beyond this many cells of the cache, parallel requests share them.
const CELLS_MAX: usize = 32_768;
/// llama.cpp rounds the number of cells up to a multiple of this.
const CELLS_STEP: usize = 256;
/// Sequences that are kept for their prefixes, beside the running ones.
const KEPT_SEQUENCES: usize = 32;
/// The part of a context that kept sequences may hold. The attention of each token looks at all cells in use: without flash attention a
/// kept cell cost about as much in two thousand drawn tokens as computing it again would, with it less.
const KEPT_CONTEXT_PART: usize = 4;
/// llama.cpp's choices of flash attention: if the model allows it, and never.
const FLASH_WHERE_ALLOWED: i32 = -1;
const FLASH_OFF: i32 = 0;

#[derive(Debug)]
pub struct Llama {
    backend: LlamaBackend,
    model: Arc<LlamaModel>,
    vocabulary: Arc<LlamaVocabulary>,
    purpose: Purpose,
    capacity: Capacity,
    settings: Settings,
    devices: Devices,
}

impl Llama {
    /// Loads a model. Fails if the engine cannot serve the file, or, between two tensors, when `stop` becomes true.
    pub fn load(settings: Settings, stop: Arc<AtomicBool>) -> Result<Self, LoadFailed> {
        let failed = |reason: String| LoadFailed { path: settings.path.clone(), reason };
        check_file(&settings.path).map_err(failed)?;
        let devices = Devices::find();
        let devices = if settings.gpu_layers == Some(0) { devices.without_gpus() } else { devices };
        let backend = LlamaBackend::init().map_err(|fault| failed(fault.to_string()))?;
        let goes_on = move |_| !stop.load(Ordering::Relaxed);
        let bytes = fs::metadata(&settings.path).map_or(u64::MAX, |file| file.len());
        // Weights that are copied to a GPU are read once.
        let is_mapped = devices.has_gpu() || !memory::holds_weights(bytes);
        let parameters = LlamaModelParams::default()
            .with_devices(&devices.gpu_indices())
            .map_err(|fault| failed(fault.to_string()))?
            .with_use_mmap(is_mapped)
            .with_progress_callback(goes_on);
        let parameters = match settings.gpu_layers {
            Some(layers) => parameters.with_n_gpu_layers(layers),
            None => parameters,
        };
        let model = LlamaModel::load_from_file(&backend, &settings.path, &parameters)
            .map_err(|_| failed("llama.cpp does not take it; the log says why".to_owned()))?;
        let tokenizer = model.meta_val_str("tokenizer.ggml.model").unwrap_or_default();
        if model.n_vocab() < 1 || ["", "none", "no_vocab"].contains(&tokenizer.as_str()) {
            return Err(failed("it has no vocabulary".to_owned()));
        }
        let metadata = Metadata::new(|key| model.meta_val_str(key).ok());
        let purpose = metadata.purpose().map_err(failed)?;
        if purpose == Purpose::Embeddings && embedder::lacks_an_edge(&model, &tokenizer) {
            return Err(failed("its vocabulary names no token that begins or ends an input".to_owned()));
        }
        let is_whole = purpose == Purpose::Embeddings && !metadata.embeds_in_pieces();
        let context = context(settings.context, &model, is_whole);
        let capacity = capacity(&settings, context, &model, &devices);
        let model = Arc::new(model);
        let vocabulary = Arc::new(LlamaVocabulary::new(Arc::clone(&model), &tokenizer));
        Ok(Self { backend, model, vocabulary, purpose, capacity, settings, devices })
    }

    #[must_use]
    pub fn devices(&self) -> &Devices {
        &self.devices
    }

    #[must_use]
    pub fn vocabulary(&self) -> Arc<LlamaVocabulary> {
        Arc::clone(&self.vocabulary)
    }

    #[must_use]
    pub fn purpose(&self) -> Purpose {
        self.purpose
    }

    #[must_use]
    pub fn capacity(&self) -> Capacity {
        self.capacity
    }

    #[must_use]
    pub fn chat_template(&self) -> Option<String> {
        self.model.chat_template(None).ok()?.to_string().ok()
    }

    /// The texts of its opening and closing tokens, empty if absent.
    #[must_use]
    pub fn edge_texts(&self) -> (String, String) {
        let vocab = self.model.vocab();
        let text = |token: LlamaToken| match token.0 {
            0.. => String::from_utf8_lossy(&vocab.token_to_piece(token, true, None)).into_owned(),
            _ => String::new(),
        };
        (text(vocab.bos()), text(vocab.eos()))
    }

    /// The texts of the tokens that only a template may write. Tokens that a model's makers defined for texts are not among them.
    #[must_use]
    pub fn control_texts(&self) -> Vec<String> {
        texts_of(&self.model, &[LlamaTokenAttr::Control, LlamaTokenAttr::Unknown])
    }

    /// A decoder with an empty cache. Fails if there is no memory for the cache, or if the model does not generate.
    pub fn decoder(&self) -> Result<LlamaDecoder<'_>, LoadFailed> {
        let failed = |reason: String| LoadFailed { path: self.settings.path.clone(), reason };
        let number = |value: usize| u32::try_from(value).map_err(|fault| failed(fault.to_string()));
        let threads = i32::try_from(self.settings.threads).map_err(|fault| failed(fault.to_string()))?;
        let step = number(STEP_TOKENS_MAX)?;
        let flash = prefers_flash(&self.devices, heads(&self.model), self.capacity.cells, STEP_TOKENS_MAX);
        let parameters = LlamaContextParams::default()
            .with_n_ctx(NonZeroU32::new(number(self.capacity.cells)?))
            .with_n_batch(step)
            .with_n_ubatch(step)
            .with_n_seq_max(number(self.capacity.sequences)?)
            .with_n_threads(threads)
            .with_n_threads_batch(threads)
            .with_swa_full(true)
            .with_flash_attention_policy(if flash { FLASH_WHERE_ALLOWED } else { FLASH_OFF })
            .with_kv_unified(true);
        let context =
            self.model.new_context(&self.backend, parameters).map_err(|fault| failed(fault.to_string()))?;
        Ok(LlamaDecoder { context, batch: LlamaBatch::new(STEP_TOKENS_MAX, 1) })
    }
}

/// The texts of tokens with any of these attributes.
fn texts_of(model: &LlamaModel, attributes: &[LlamaTokenAttr]) -> Vec<String> {
    let vocab = model.vocab();
    let has_one =
        |token: &LlamaToken| attributes.iter().any(|attribute| vocab.attr(*token).contains(*attribute));
    let tokens = vocab.tokens().filter(has_one);
    tokens.filter_map(|token| String::from_utf8(vocab.token_to_piece(token, true, None)).ok()).collect()
}

fn check_file(path: &Path) -> Result<(), String> {
    let mut magic = [0; 4];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut magic));
    match read {
        Err(fault) => Err(fault.to_string()),
        Ok(()) if magic != *b"GGUF" => Err("it is no GGUF file".to_owned()),
        Ok(()) if path.to_str().is_none() => Err("its path is no UTF-8".to_owned()),
        Ok(()) => Ok(()),
    }
}

/// Tokens that a request may hold, given the setting `asked`; `is_whole` if they are computed as a whole.
fn context(asked: usize, model: &LlamaModel, is_whole: bool) -> usize {
    let trained = usize::try_from(model.n_ctx_train()).unwrap_or(usize::MAX).max(1);
    if asked > trained {
        tracing::info!(trained, asked, "take the context that the model was trained on");
    }
    let context = asked.min(trained);
    if is_whole { embedder::context_that_fits(model, context) } else { context }
}

fn capacity(settings: &Settings, context: usize, model: &LlamaModel, devices: &Devices) -> Capacity {
    let cells = context.saturating_mul(settings.parallel).min(CELLS_MAX.max(context));
    let cells = cells.next_multiple_of(CELLS_STEP);
    let heads = heads(model);
    let flash = prefers_flash(devices, heads, cells, STEP_TOKENS_MAX);
    // Both bounds were measured on processors. A GPU gains more from large steps.
    let (masked_cells, tile_tokens) = if devices.has_gpu() {
        (usize::MAX, 1)
    } else {
        (attention::masked_cells(heads, flash, model.size()), cpu::TILE_TOKENS)
    };
    let shares_prefixes = !model.is_recurrent() && !model.is_hybrid();
    Capacity {
        context,
        cells,
        parallel: settings.parallel,
        sequences: settings.parallel + if shares_prefixes { KEPT_SEQUENCES } else { 0 },
        kept_cells: context / KEPT_CONTEXT_PART,
        masked_cells,
        tile_tokens,
        shares_prefixes,
    }
}

fn heads(model: &LlamaModel) -> Heads {
    let number = |name: &str| {
        let architecture = model.meta_val_str("general.architecture").ok()?;
        model.meta_val_str(&format!("{architecture}.attention.{name}")).ok()?.parse().ok()
    };
    let count = model.n_head();
    let evenly = u32::try_from(model.n_embd()).unwrap_or(0) / count.max(1);
    Heads { count, layers: model.n_layer(), length: number("key_length").unwrap_or(evenly) }
}

fn prefers_flash(devices: &Devices, heads: Heads, cells: usize, step: usize) -> bool {
    devices.has_gpu() || attention::prefers_flash(heads, &cpu::build_features(), cells, step)
}

/// A vocabulary whose pieces are read once.
#[derive(Debug)]
pub struct LlamaVocabulary {
    model: Arc<LlamaModel>,
    bytes: Vec<u8>,
    /// The end of each token's piece in `bytes`.
    ends: Vec<usize>,
    end_tokens: Vec<Token>,
    longest_piece: usize,
    opening: Option<LlamaToken>,
    stretches: Stretches,
}

impl LlamaVocabulary {
    fn new(model: Arc<LlamaModel>, tokenizer: &str) -> Self {
        let vocab = model.vocab();
        let (mut bytes, mut ends, mut longest_piece) = (Vec::new(), Vec::new(), 4);
        for token in vocab.tokens() {
            let piece = vocab.token_to_piece(token, false, None);
            // A special token is found by its text, which its piece does not show.
            longest_piece = longest_piece.max(vocab.token_to_piece(token, true, None).len());
            bytes.extend_from_slice(&piece);
            ends.push(bytes.len());
        }
        let ending = vocab.tokens().filter(|&token| vocab.is_eog(token));
        let end_tokens = ending.filter_map(|token| Token::try_from(token.0).ok()).collect();
        let opening = (vocab.should_add_bos() && vocab.bos().0 >= 0).then(|| vocab.bos());
        let special = [LlamaTokenAttr::Control, LlamaTokenAttr::Unknown, LlamaTokenAttr::UserDefined];
        let stretches = Stretches::new(tokenizer, texts_of(&model, &special));
        Self { bytes, ends, end_tokens, longest_piece, opening, stretches, model }
    }
}

impl Vocabulary for LlamaVocabulary {
    fn tokenize(&self, pieces: &mut dyn Iterator<Item = &str>) -> Vec<Token> {
        let vocab = self.model.vocab();
        let pieces = pieces.flat_map(|piece| self.stretches.of(piece));
        let mut tokens: Vec<_> =
            pieces.flat_map(|piece| vocab.tokenize(piece.as_bytes(), false, true)).collect();
        if let Some(opening) = self.opening
            && tokens.first() != Some(&opening)
        {
            tokens.insert(0, opening);
        }
        tokens.into_iter().filter_map(|token| Token::try_from(token.0).ok()).collect()
    }

    fn tokenize_input(&self, text: &str) -> Vec<Token> {
        let vocab = self.model.vocab();
        let mut stretches = self.stretches.of(text);
        let mut tokens = vocab.tokenize(stretches.next().unwrap_or_default().as_bytes(), true, true);
        let closing = if vocab.should_add_eos() { tokens.pop() } else { None };
        tokens.extend(stretches.flat_map(|stretch| vocab.tokenize(stretch.as_bytes(), false, true)));
        tokens.extend(closing);
        tokens.into_iter().filter_map(|token| Token::try_from(token.0).ok()).collect()
    }

    fn piece(&self, token: Token) -> &[u8] {
        let index = token as usize;
        let start = index.checked_sub(1).map_or(0, |before| self.ends.get(before).copied().unwrap_or(0));
        self.ends.get(index).map_or(&[], |&end| &self.bytes[start..end])
    }

    fn ends_turn(&self, token: Token) -> bool {
        self.end_tokens.contains(&token)
    }

    fn end_tokens(&self) -> &[Token] {
        &self.end_tokens
    }

    fn token_count(&self) -> usize {
        self.ends.len()
    }

    fn longest_piece(&self) -> usize {
        self.longest_piece
    }
}

/// A context of llama.cpp with one cache for all sequences. It stays on the thread that made it.
#[derive(Debug)]
pub struct LlamaDecoder<'model> {
    context: LlamaContext<'model>,
    batch: LlamaBatch<'static>,
}

impl LlamaDecoder<'_> {
    fn fill(&mut self, entries: &[BatchEntry]) -> Result<(), String> {
        self.batch.clear();
        for entry in entries {
            let token = LlamaToken(i32::try_from(entry.token).map_err(|fault| fault.to_string())?);
            let position = i32::try_from(entry.position).map_err(|fault| fault.to_string())?;
            let sequence = i32::try_from(entry.sequence).map_err(|fault| fault.to_string())?;
            self.batch
                .add(token, position, &[sequence], entry.wants_logits)
                .map_err(|fault| fault.to_string())?;
        }
        Ok(())
    }
}

impl Decoder for LlamaDecoder<'_> {
    fn decode(&mut self, batch: &[BatchEntry]) -> Result<(), DecodeFailed> {
        self.fill(batch).map_err(DecodeFailed)?;
        self.context.decode(&mut self.batch).map_err(|fault| DecodeFailed(fault.to_string()))
    }

    fn logits(&self, index: usize) -> &[f32] {
        self.context.get_logits_ith(i32::try_from(index).unwrap_or(i32::MAX))
    }

    fn copy_prefix(&mut self, from: usize, to: usize, length: usize) {
        let number = |value: usize| i32::try_from(value).unwrap_or(i32::MAX);
        // Fails only for numbers beyond those of any sequence.
        let _ = self.context.copy_kv_cache_seq(number(from), number(to), Some(0), u32::try_from(length).ok());
    }

    fn clear(&mut self, sequence: usize) {
        // As above; a whole sequence can always be removed.
        let _ = self.context.clear_kv_cache_seq(u32::try_from(sequence).ok(), None, None);
    }
}
