use std::num::NonZeroU32;

use llama_cpp_2::{
    context::{LlamaContext, params::LlamaContextParams},
    llama_batch::LlamaBatch,
    model::LlamaModel,
    token::LlamaToken,
};

use super::{
    CELLS_STEP, FLASH_OFF, FLASH_WHERE_ALLOWED, Llama, LoadFailed, heads, prefers_flash, purpose::Metadata,
};
use crate::memory;
use crate::model::{DecodeFailed, Embedder, EmbedderCapacity, STEP_TOKENS_MAX, Token};

/// Tokens up to which a processor computes inputs together. They fill its tiles, and each further one slows the others: a token is compared
/// with a whole step, and most of that is discarded (docs/engine.md).
const PROCESSOR_STEP_TOKENS: usize = 64;

/// A context of llama.cpp that pools its results. It stays on the thread that made it.
#[derive(Debug)]
pub struct LlamaEmbedder<'model> {
    context: LlamaContext<'model>,
    batch: LlamaBatch<'static>,
    /// Tokens of one computation of llama.cpp.
    step: usize,
}

/// The longest input, of up to `context` tokens, for which there is memory if an input is computed as a whole: with its first long input
/// llama.cpp takes and keeps memory for a probability of each token of the vocabulary for each input token. At least one step's.
pub(super) fn context_that_fits(model: &LlamaModel, context: usize) -> usize {
    let numbers =
        u64::try_from(model.n_vocab()).unwrap_or(0) + u64::try_from(model.n_embd_out()).unwrap_or(0);
    let bytes = numbers * size_of::<f32>() as u64;
    let fitting = memory::fitting(context, bytes).max(STEP_TOKENS_MAX.min(context));
    if fitting < context {
        tracing::warn!(
            fitting,
            asked = context,
            bytes,
            "take the context that half of the free memory holds"
        );
    }
    fitting
}

/// Whether the vocabulary lacks a token that llama.cpp adds to each input: it would end the process.
pub(super) fn lacks_an_edge(model: &LlamaModel, tokenizer: &str) -> bool {
    let vocab = model.vocab();
    let is_word_piece = tokenizer == "bert";
    let added = [
        (is_word_piece || vocab.should_add_bos(), vocab.bos()),
        (is_word_piece, vocab.sep()),
        (!is_word_piece && vocab.should_add_eos(), vocab.eos()),
    ];
    added.into_iter().any(|(is_added, token)| is_added && token.0 < 0)
}

impl Llama {
    /// Fails if the model makes no vectors.
    pub fn embedder_capacity(&self) -> Result<EmbedderCapacity, LoadFailed> {
        let width = usize::try_from(self.model.n_embd_out()).ok().filter(|width| *width > 0);
        let failed = || LoadFailed {
            path: self.settings.path.clone(),
            reason: "its vectors have no numbers".to_owned(),
        };
        Ok(EmbedderCapacity {
            context: self.capacity.context,
            parallel: self.settings.parallel,
            step_tokens: if self.devices.has_gpu() { STEP_TOKENS_MAX } else { PROCESSOR_STEP_TOKENS },
            width: width.ok_or_else(failed)?,
        })
    }

    /// Fails if there is no memory for it.
    pub fn embedder(&self) -> Result<LlamaEmbedder<'_>, LoadFailed> {
        let failed = |reason: String| LoadFailed { path: self.settings.path.clone(), reason };
        let number = |value: usize| u32::try_from(value).map_err(|fault| failed(fault.to_string()));
        let threads = i32::try_from(self.settings.threads).map_err(|fault| failed(fault.to_string()))?;
        let cells = self.capacity.context.max(STEP_TOKENS_MAX).next_multiple_of(CELLS_STEP);
        // llama.cpp computes a probability of each token of the vocabulary for each token of a piece, so pieces are short.
        let metadata = Metadata::new(|key| self.model.meta_val_str(key).ok());
        let step = if metadata.embeds_in_pieces() { STEP_TOKENS_MAX } else { cells };
        let flash = prefers_flash(&self.devices, heads(&self.model), cells, step);
        let parameters = LlamaContextParams::default()
            .with_embeddings(true)
            .with_n_ctx(NonZeroU32::new(number(cells)?))
            .with_n_batch(number(step)?)
            .with_n_ubatch(number(step)?)
            .with_n_seq_max(number(self.settings.parallel)?)
            .with_n_threads(threads)
            .with_n_threads_batch(threads)
            .with_swa_full(true)
            .with_flash_attention_policy(if flash { FLASH_WHERE_ALLOWED } else { FLASH_OFF })
            .with_kv_unified(true);
        let context =
            self.model.new_context(&self.backend, parameters).map_err(|fault| failed(fault.to_string()))?;
        Ok(LlamaEmbedder { context, batch: LlamaBatch::new(step, 1), step })
    }
}

impl LlamaEmbedder<'_> {
    /// Computes the batch, and reads the vectors of inputs that end in it.
    fn compute(&mut self, ended: &mut Vec<i32>, vectors: &mut Vec<Vec<f32>>) -> Result<(), String> {
        self.context.decode(&mut self.batch).map_err(|fault| fault.to_string())?;
        self.batch.clear();
        for sequence in ended.drain(..) {
            let vector = self.context.embeddings_seq_ith(sequence).map_err(|fault| fault.to_string())?;
            vectors.push(vector.to_vec());
        }
        Ok(())
    }

    fn feed(&mut self, inputs: &[&[Token]]) -> Result<Vec<Vec<f32>>, String> {
        let (mut ended, mut vectors, mut fed) = (Vec::new(), Vec::with_capacity(inputs.len()), 0);
        self.batch.clear();
        for (sequence, input) in (0_i32..).zip(inputs) {
            for (position, token) in (0_i32..).zip(*input) {
                if fed == self.step {
                    self.compute(&mut ended, &mut vectors)?;
                    fed = 0;
                }
                let token = LlamaToken(i32::try_from(*token).map_err(|fault| fault.to_string())?);
                self.batch.add(token, position, &[sequence], true).map_err(|fault| fault.to_string())?;
                fed += 1;
            }
            ended.push(sequence);
        }
        self.compute(&mut ended, &mut vectors)?;
        Ok(vectors)
    }
}

impl Embedder for LlamaEmbedder<'_> {
    fn embed(&mut self, inputs: &[&[Token]]) -> Result<Vec<Vec<f32>>, DecodeFailed> {
        let fed = self.feed(inputs).map_err(DecodeFailed);
        for sequence in 0..u32::try_from(inputs.len()).unwrap_or(u32::MAX) {
            // A whole sequence can always be removed.
            let _ = self.context.clear_kv_cache_seq(Some(sequence), None, None);
        }
        fed
    }
}
