//! Fields that other servers support and this engine does not. A value that would change the answer is refused; unlisted names are ignored.

use std::collections::BTreeMap;

use serde_json::{Value, value::RawValue};

use super::Refusal;

/// Fields with their values that have no effect; null never has one.
type Fields = [(&'static str, &'static [&'static str])];

const CHAT: &Fields = &[
    // OpenAI
    ("audio", &[]),
    ("function_call", &["\"none\"", "\"auto\""]),
    ("functions", &["[]"]),
    ("modalities", &["[\"text\"]", "[]"]),
    ("web_search_options", &[]),
    // vLLM
    ("add_generation_prompt", &["true"]),
    ("add_special_tokens", &["false"]),
    ("bad_words", &["[]"]),
    ("best_of", &["1"]),
    ("chat_template", &[]),
    ("continue_final_message", &["false"]),
    ("documents", &["[]"]),
    ("early_stopping", &["false"]),
    ("echo", &["false"]),
    ("guided_whitespace_pattern", &[]),
    ("kv_transfer_params", &["{}"]),
    ("length_penalty", &["1"]),
    ("logits_processors", &["[]"]),
    ("mm_processor_kwargs", &["{}"]),
    ("prompt_embeds", &[]),
    ("prompt_logprobs", &[]),
    ("return_token_ids", &["false"]),
    ("return_tokens_as_token_ids", &["false"]),
    ("skip_special_tokens", &["true"]),
    ("structural_tag", &[]),
    ("truncate_prompt_tokens", &[]),
    ("use_beam_search", &["false"]),
    ("vllm_xargs", &["{}"]),
    // SGLang
    ("custom_logit_processor", &[]),
    ("ebnf", &[]),
    ("lora_path", &[]),
    ("no_stop_trim", &["false"]),
    ("return_hidden_states", &["false"]),
    ("stop_regex", &["[]", "\"\""]),
    // llama-server
    ("dry_multiplier", &["0"]),
    ("dynatemp_range", &["0"]),
    ("grammar", &["\"\""]),
    ("grammar_lazy", &["false"]),
    ("grammar_triggers", &["[]"]),
    ("logit_bias_exp", &["[]"]),
    ("lora", &["[]"]),
    ("mirostat", &["0"]),
    ("n_predict", &["-1"]),
    ("n_probs", &["0"]),
    ("post_sampling_probs", &["false"]),
    ("return_tokens", &["false"]),
    ("samplers", &[]),
    ("t_max_predict_ms", &["0", "-1"]),
    ("tfs_z", &["1"]),
    ("top_a", &["0"]),
    ("top_n_sigma", &["0", "-1"]),
    ("typ_p", &["1"]),
    ("typical_p", &["1"]),
    ("xtc_probability", &["0"]),
];

const EMBEDDINGS: &Fields = &[
    // vLLM
    ("add_special_tokens", &["true"]),
    ("chat_template", &[]),
    ("embed_dtype", &["\"float32\""]),
    ("endianness", &["\"native\"", "\"little\""]),
    ("messages", &[]),
    ("mm_processor_kwargs", &["{}"]),
    ("normalize", &["true"]),
    ("truncate_prompt_tokens", &[]),
    ("use_activation", &["true"]),
    // llama-server
    ("embd_normalize", &["2"]),
    // Text Embeddings Inference, and hosted services
    ("input_type", &[]),
    ("prompt_name", &[]),
    ("task", &[]),
    ("truncate", &["false", "\"NONE\""]),
];

/// Refuses the first unsupported field of a chat completion.
pub(super) fn refuse(body: &BTreeMap<String, &RawValue>) -> Result<(), Refusal> {
    refuse_fields(body, CHAT)?;
    refuse_window(body)
}

/// Refuses the first unsupported field of an embedding request.
pub(super) fn refuse_of_embeddings(body: &BTreeMap<String, &RawValue>) -> Result<(), Refusal> {
    refuse_fields(body, EMBEDDINGS)
}

fn refuse_fields(body: &BTreeMap<String, &RawValue>, fields: &Fields) -> Result<(), Refusal> {
    for (name, neutral) in fields {
        let Some(value) = body.get(*name) else { continue };
        if !is_neutral(value.get(), neutral) {
            return Err(refusal(name, &format!("unsupported parameter: {name} is not served here")));
        }
    }
    Ok(())
}

/// llama.cpp applies its penalty to the last tokens, this engine to all.
fn refuse_window(body: &BTreeMap<String, &RawValue>) -> Result<(), Refusal> {
    let is =
        |name: &str, neutral: &[&str]| body.get(name).is_none_or(|value| is_neutral(value.get(), neutral));
    if is("repeat_last_n", &["-1"]) || is("repeat_penalty", &["1"]) {
        return Ok(());
    }
    let message = "unsupported parameter: repeat_penalty counts all tokens here, as with repeat_last_n -1";
    Err(refusal("repeat_last_n", message))
}

fn refusal(name: &str, message: &str) -> Refusal {
    Refusal { code: Some("unsupported_parameter"), ..Refusal::of(name, format!("{message}.")) }
}

fn is_neutral(value: &str, neutral: &[&str]) -> bool {
    let Ok(value) = serde_json::from_str::<Value>(value) else { return false };
    let is = |text: &&str| match (serde_json::from_str::<Value>(text), value.as_f64()) {
        (Ok(Value::Number(number)), Some(value)) => number.as_f64() == Some(value),
        (Ok(neutral), _) => neutral == value,
        (Err(_), _) => false,
    };
    value.is_null() || neutral.iter().any(is)
}
