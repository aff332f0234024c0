//! Other self-hosted servers.

use super::Behaviour;
use super::Outcome::{Completed, CompletedWithWarning, RetriedUncounted};
use super::bodies::completion;

pub(super) const ROWS: &[Behaviour] = &[
    Behaviour::of("mlx-lm", "mlx-lm-no-content", "https://github.com/ml-explore/mlx-lm/pull/1739")
        .answers(200, completion!(r#""reasoning":"They ask for a tale.""#, r#""stop""#))
        .becomes_saying(Completed, "They ask for a tale."),
    Behaviour::of("oMLX", "omlx-space-before-json", "https://github.com/jundot/omlx/issues/2066")
        .answers(200, concat!("   ", completion!(r#""content":"Once upon""#, r#""stop""#)))
        .becomes_saying(Completed, "Once upon"),
    Behaviour::of(
        "Rapid-MLX",
        "rapid-mlx-null-content-at-limit",
        "https://github.com/raullenchai/Rapid-MLX/issues/858",
    )
    .answers(200, completion!(r#""content":null"#, r#""length""#))
    .becomes_saying(CompletedWithWarning("result_body.choices.message.content"), "output limit"),
    Behaviour::of("Triton", "triton-nan", "https://github.com/triton-inference-server/server/issues/3711")
        .answers(
            200,
            completion!(
                r#""content":"Once""#,
                r#""stop","logprobs":{"content":[{"token":"Once","logprob":NaN,"bytes":null,"top_logprobs":[]}]}"#
            ),
        )
        .becomes_saying(CompletedWithWarning("result_body"), "not finite"),
    Behaviour::of("Triton", "triton-infinity", "https://github.com/triton-inference-server/server/pull/3870")
        .answers(
            200,
            completion!(
                r#""content":"Once""#,
                r#""stop","logprobs":{"content":[{"token":"Once","logprob":-Infinity,"bytes":null,"top_logprobs":[]}]}"#
            ),
        )
        .becomes_saying(CompletedWithWarning("result_body"), "not finite"),
    Behaviour::of(
        "TensorRT-LLM",
        "tensorrt-llm-timeout",
        "https://github.com/NVIDIA/TensorRT-LLM/blob/005bc848893f575ec14b45d6b13139360d67c790/tensorrt_llm/executor/result.py",
    )
    .answers(200, completion!(r#""content":"Once upon""#, r#""timeout""#))
    .becomes_saying(RetriedUncounted, "timeout"),
    Behaviour::of(
        "Tenstorrent",
        "tenstorrent-timeout-error",
        "https://github.com/tenstorrent/tt-inference-server/pull/3921",
    )
    .answers(200, completion!(r#""content":"Once upon""#, r#""timeout_error""#))
    .becomes_saying(RetriedUncounted, "timeout_error"),
    Behaviour::of("imp", "imp-cancelled", "https://github.com/kekzl/imp/issues/1590")
        .answers(200, completion!(r#""content":"Once upon""#, r#""cancelled""#))
        .becomes_saying(RetriedUncounted, "cancelled"),
    Behaviour::of("LocalAI", "localai-usage-of-zeros", "https://github.com/mudler/LocalAI/issues/1920")
        .answers(
            200,
            completion!(
                r#""content":"Once upon""#,
                r#""stop""#,
                r#","usage":{"completion_tokens":0,"prompt_tokens":0,"total_tokens":0}"#
            ),
        )
        .becomes_saying(CompletedWithWarning("result_body.usage"), "0 tokens of output"),
    Behaviour::of(
        "OpenVINO Model Server",
        "openvino-cut-character",
        "https://github.com/openvinotoolkit/model_server/pull/2525",
    )
    .answers_bytes(
        200,
        b"{\"object\":\"chat.completion\",\"created\":1700000000,\"model\":\"theirs\",\"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\",\"content\":\"Once \xe4\xb8\"},\"finish_reason\":\"length\"}],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":2,\"total_tokens\":11}}",
    )
    .becomes_saying(CompletedWithWarning("result_body"), "U+FFFD"),
    Behaviour::of(
        "LlamaEdge",
        "llamaedge-control-characters",
        "https://github.com/LlamaEdge/LlamaEdge/issues/50",
    )
    .answers(
        200,
        "{\"object\":\"chat.completion\",\"created\":1700000000,\"model\":\"theirs\",\"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\",\"content\":\"Once\nupon\"},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":2,\"total_tokens\":11}}",
    )
    .becomes_saying(CompletedWithWarning("result_body"), r"Once\nupon"),
    Behaviour::of("modelz-llm", "modelz-llm-other-object", "https://github.com/tensorchord/modelz-llm/issues/83")
        .answers(200, r#"{"id":"1306c25e-968f-4a02-adcb-5bcfbd19524a","object":"chat","created":"2023-06-20T19:58:12.437203","model":"bigscience/bloomz-560m","usage":{"prompt_tokens":7,"completion_tokens":5,"total_tokens":12},"choices":[{"message":{"content":" The Dark Knight Rises","role":"assistant","name":""},"index":0,"finish_reason":"stop"}]}"#)
        .becomes_saying(Completed, " The Dark Knight Rises"),
];
