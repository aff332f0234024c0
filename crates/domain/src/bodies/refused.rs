//! Fields of `request_body` that are not passed on unless the operator lists them in `limits.allow_fields`.
//!
//! `ignore_eos`, `min_tokens`, `user` and the samplers are allowed: they stay within what was held.

/// A field that is refused, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RefusedField {
    /// The field's name.
    pub name: &'static str,
    /// What it would do, to be read after "it".
    pub reason: &'static str,
}

const LIMIT: &str = "sets another output limit than the max_tokens that is held";
const OUTPUT: &str = "makes more output than the max_tokens and n that are held";
const INPUT: &str = "adds input that is not held";
const PAID: &str = "buys services that are not held";
const FORM: &str = "asks for output in a form that is not priced";
const SIZE: &str = "makes the answer grow without bound";
const USAGE: &str = "takes away the usage that is charged";
const WRAPPED: &str = "carries settings past these checks";
const CODE: &str = "runs code of the client's in the engine";
const ENGINE: &str = "steers the engine for all that it serves";
const TURN: &str = "takes another turn than its own";
const ROUTE: &str = "sends the request another way than the operator's";
const MODEL: &str = "chooses another model than the one that is priced";
const CACHE: &str = "reaches into a cache that accounts share";
const ACCOUNTS: &str = "names something that may be another account's";
const KEPT: &str = "keeps the prompt with the engine's provider";

const REFUSED: &[RefusedField] = &[
    refused("api_base", ROUTE),
    refused("api_key", ROUTE),
    refused("audio", FORM),
    refused("backend_sampling", ENGINE),
    refused("base_url", ROUTE),
    refused("beam_width", OUTPUT),
    refused("best_of", OUTPUT),
    refused("bootstrap_host", ROUTE),
    refused("bootstrap_port", ROUTE),
    refused("bootstrap_room", ROUTE),
    refused("cache_prompt", CACHE),
    refused("cache_salt", CACHE),
    refused("chat_template", INPUT),
    refused("compound_custom", PAID),
    refused("custom_llm_provider", ROUTE),
    refused("custom_logit_processor", CODE),
    refused("custom_params", CODE),
    refused("data_parallel_rank", ROUTE),
    refused("disagg_prefill_dp_rank", ROUTE),
    refused("ec_transfer_params", CACHE),
    refused("echo", SIZE),
    refused("enable_search", PAID),
    refused("extra_body", WRAPPED),
    refused("extra_headers", WRAPPED),
    refused("extra_key", CACHE),
    refused("extra_query", WRAPPED),
    refused("fallbacks", ROUTE),
    refused("guided_decoding_backend", ENGINE),
    refused("id_slot", CACHE),
    refused("images_config", INPUT),
    refused("input_embeds", INPUT),
    refused("input_ids", INPUT),
    refused("keep_alive", ENGINE),
    refused("kv_transfer_params", CACHE),
    refused("logits_processors", CODE),
    refused("lora", MODEL),
    refused("lora_path", MODEL),
    refused("lora_request", MODEL),
    refused("max_dynamic_patch", INPUT),
    refused("max_length", LIMIT),
    refused("max_new_tokens", LIMIT),
    refused("max_output_tokens", LIMIT),
    refused("max_tokens_to_sample", LIMIT),
    refused("mcp_servers", PAID),
    refused("media_io_kwargs", INPUT),
    refused("min_dynamic_patch", INPUT),
    refused("mm_processor_kwargs", INPUT),
    refused("modalities", FORM),
    refused("models", MODEL),
    refused("n_cache_reuse", CACHE),
    refused("n_cmpl", OUTPUT),
    refused("n_predict", LIMIT),
    refused("n_probs", SIZE),
    refused("ngram_corpus_id", ACCOUNTS),
    refused("num_beams", OUTPUT),
    refused("num_ctx", ENGINE),
    refused("num_predict", LIMIT),
    refused("num_return_sequences", OUTPUT),
    refused("options", WRAPPED),
    refused("plugins", PAID),
    refused("prediction", OUTPUT),
    refused("previous_response_id", ACCOUNTS),
    refused("priority", TURN),
    refused("prompt_cache_key", CACHE),
    refused("prompt_cache_retention", CACHE),
    refused("prompt_embeds", INPUT),
    refused("prompt_logprobs", SIZE),
    refused("prompt_token_ids", INPUT),
    refused("provider", ROUTE),
    refused("request_id", ACCOUNTS),
    refused("response_fields", USAGE),
    refused("return_hidden_states", SIZE),
    refused("return_routed_experts", SIZE),
    refused("rid", ACCOUNTS),
    refused("route", ROUTE),
    refused("routed_dp_rank", ROUTE),
    refused("routing_key", ROUTE),
    refused("search_options", PAID),
    refused("search_parameters", PAID),
    refused("search_settings", PAID),
    refused("service_tier", TURN),
    refused("session_id", ACCOUNTS),
    refused("session_params", ACCOUNTS),
    refused("slot_id", CACHE),
    refused("store", KEPT),
    refused("use_audio_in_video", INPUT),
    refused("use_beam_search", OUTPUT),
    refused("vllm_xargs", WRAPPED),
    refused("web_search", PAID),
    refused("web_search_options", PAID),
];

const fn refused(name: &'static str, reason: &'static str) -> RefusedField {
    RefusedField { name, reason }
}

/// Every refused field, sorted by name.
pub fn refused_fields() -> &'static [RefusedField] {
    REFUSED
}

pub(crate) fn find(name: &str) -> Option<&'static RefusedField> {
    REFUSED.binary_search_by(|field| field.name.cmp(name)).ok().map(|index| &REFUSED[index])
}
