//! A model's purpose, according to its file.

use llama_cpp_2::context::params::LlamaPoolingType;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    Chat,
    Embeddings,
}

/// Architectures of llama.cpp that this engine cannot serve: T5 is an encoder and a decoder, the others write by diffusion.
/// `overnight-server` looks for the same in a file's header.
const UNSERVED: [&str; 6] = ["t5", "t5encoder", "dream", "llada", "llada-moe", "rnd1"];

/// The architecture in a model file.
pub(super) struct Metadata<V> {
    architecture: String,
    value: V,
}

impl<V: Fn(&str) -> Option<String>> Metadata<V> {
    /// `value` returns the value of a key.
    pub(super) fn new(value: V) -> Self {
        Self { architecture: value("general.architecture").unwrap_or_default(), value }
    }

    fn own(&self, name: &str) -> Option<String> {
        (self.value)(&format!("{}.{name}", self.architecture))
    }

    /// How the vectors of an input's tokens become one.
    fn pooling(&self) -> LlamaPoolingType {
        let number: Option<i32> = self.own("pooling_type").and_then(|number| number.parse().ok());
        number.map_or(LlamaPoolingType::Unspecified, LlamaPoolingType::from)
    }

    /// Whether a token sees only earlier ones.
    fn is_causal(&self) -> bool {
        self.own("attention.causal").as_deref() != Some("false")
    }

    /// Whether an input can be embedded in pieces: the model is causal, and the last token's vector is the input's.
    pub(super) fn embeds_in_pieces(&self) -> bool {
        self.is_causal() && self.pooling() == LlamaPoolingType::Last
    }

    /// A file of an embedding model has a pooling type. Fails if the model cannot be served; the error is the end of a sentence.
    pub(super) fn purpose(&self) -> Result<Purpose, String> {
        let architecture = &self.architecture;
        if UNSERVED.contains(&architecture.as_str()) {
            return Err(format!("models of the architecture {architecture} are not supported"));
        }
        match self.pooling() {
            LlamaPoolingType::Rank => Err("it ranks texts, which is not supported".to_owned()),
            LlamaPoolingType::Mean | LlamaPoolingType::Cls | LlamaPoolingType::Last => {
                Ok(Purpose::Embeddings)
            }
            LlamaPoolingType::None | LlamaPoolingType::Unspecified if self.is_causal() => Ok(Purpose::Chat),
            LlamaPoolingType::None | LlamaPoolingType::Unspecified => Err(format!(
                "it does not write, and its file names no {architecture}.pooling_type for embeddings"
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Metadata, Purpose};

    fn judge(architecture: &str, pooling: Option<i32>, causal: Option<bool>) -> Result<Purpose, String> {
        let value = |key: &str| match key.split_once('.') {
            Some(("general", "architecture")) => Some(architecture.to_owned()),
            Some((own, "pooling_type")) if own == architecture => pooling.map(|pooling| pooling.to_string()),
            Some((own, "attention.causal")) if own == architecture => causal.map(|causal| causal.to_string()),
            _ => None,
        };
        Metadata::new(value).purpose()
    }

    #[test]
    fn the_pooling_type_tells_an_embedding_model() {
        for pooling in 1..=3 {
            assert_eq!(judge("bert", Some(pooling), Some(false)), Ok(Purpose::Embeddings));
            assert_eq!(judge("qwen3", Some(pooling), None), Ok(Purpose::Embeddings));
        }
        assert_eq!(judge("qwen3", None, None), Ok(Purpose::Chat));
        assert_eq!(judge("llama", Some(0), Some(true)), Ok(Purpose::Chat));
    }

    #[test]
    fn what_neither_writes_nor_pools_is_refused() {
        for (architecture, pooling, causal, words) in [
            ("bert", Some(4), Some(false), "ranks"),
            ("bert", None, Some(false), "bert.pooling_type"),
            ("bert", Some(0), Some(false), "bert.pooling_type"),
            ("t5encoder", Some(1), None, "architecture t5encoder"),
            ("t5", None, None, "architecture t5"),
            ("dream", None, Some(false), "architecture dream"),
            ("llada-moe", None, None, "architecture llada-moe"),
        ] {
            let refusal = judge(architecture, pooling, causal).expect_err("a refusal");
            assert!(refusal.contains(words), "{refusal}");
        }
    }
}
