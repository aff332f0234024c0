//! Text Generation Inference, and the hosted API of Hugging Face.

use super::Behaviour;
use super::Outcome::{Completed, FailsAtOnce, Retried, Waits};
use super::bodies::completion;

const SERVER: &str =
    "https://github.com/huggingface/text-generation-inference/blob/db931fcf/router/src/server.rs";
const VALIDATION: &str =
    "https://github.com/huggingface/text-generation-inference/blob/db931fcf/router/src/validation.rs";

const fn row(name: &'static str, source: &'static str) -> Behaviour {
    Behaviour::of("TGI", name, source)
}

pub(super) const ROWS: &[Behaviour] = &[
    row(
        "tgi-generation-failed",
        "https://github.com/huggingface/text-generation-inference/issues/1510",
    )
    .answers(424, r#"{"error":"Request failed during generation: Server error: index 1 is out of bounds for dimension 0 with size 1","error_type":"generation"}"#)
    .becomes_saying(Retried, "Request failed during generation: Server error: index 1 is out of bounds"),
    row("tgi-dead-shard", "https://github.com/huggingface/text-generation-inference/issues/931")
        .answers(424, r#"{"error":"Request failed during generation: Server error: error trying to connect: Connection refused (os error 111)","error_type":"generation"}"#)
        .becomes_saying(Retried, "error trying to connect: Connection refused (os error 111)"),
    row("tgi-overloaded", SERVER)
        .answers(429, r#"{"error":"Model is overloaded","error_type":"overloaded"}"#)
        .becomes_saying(Waits(None), "Model is overloaded"),
    row("tgi-too-long", VALIDATION)
        .answers(422, r#"{"error":"Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens and 20 `max_new_tokens`","error_type":"validation"}"#)
        .becomes_saying(FailsAtOnce, "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096."),
    row("tgi-refuses-temperature-0", VALIDATION)
        .answers(422, r#"{"error":"Input validation error: `temperature` must be strictly positive","error_type":"validation"}"#)
        .becomes_saying(FailsAtOnce, "`temperature` must be strictly positive"),
    row(
        "tgi-stop-sequence",
        "https://github.com/huggingface/text-generation-inference/blob/db931fcf/router/src/lib.rs",
    )
    .answers(200, completion!(r#""content":"Once upon""#, r#""stop_sequence""#))
    .becomes_saying(Completed, "Once upon"),
    row(
        "tgi-incomplete-generation",
        "https://github.com/huggingface/text-generation-inference/blob/db931fcf/router/src/infer/mod.rs",
    )
    .answers(500, r#"{"error":"Incomplete generation","error_type":"incomplete_generation"}"#)
    .becomes_saying(Retried, "Incomplete generation"),
    row("tgi-wrong-key", SERVER).answers(401, "").with(&[]).becomes_saying(Retried, "Unauthorized"),
    row("tgi-other-object", "https://github.com/huggingface/text-generation-inference/pull/2089")
        .answers(200, r#"{"id":"","object":"text_completion","created":1700000000,"model":"theirs","system_fingerprint":"2.0.4","choices":[{"index":0,"message":{"role":"assistant","content":"Once upon"},"logprobs":null,"finish_reason":"length"}],"usage":{"prompt_tokens":9,"completion_tokens":2,"total_tokens":11}}"#)
        .becomes_saying(Completed, "Once upon"),
    row("hugging-face-loading", "https://github.com/huggingface/transformers/issues/32665")
        .answers(503, r#"{"error":"Model meta-llama/Llama-2-13b-chat is currently loading","estimated_time":20.0}"#)
        .becomes_saying(Waits(None), "Model meta-llama/Llama-2-13b-chat is currently loading"),
];
