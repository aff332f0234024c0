//! Gateways and proxies in front of engines.

use super::Behaviour;
use super::Outcome::{Completed, FailsAtOnce, NoUsage, Retried, RetriedUncounted, Unreadable, Waits};
use super::bodies::completion;
use crate::engine::Fault;

const HTML: &[(&str, &str)] = &[("content-type", "text/html; charset=UTF-8"), ("server", "cloudflare")];
const TEXT: &[(&str, &str)] = &[("content-type", "text/plain")];
const EVENTS: &[(&str, &str)] = &[("content-type", "text/event-stream")];
const GZIP: &[(&str, &str)] = &[("content-type", "application/json"), ("content-encoding", "gzip")];

pub(super) const ROWS: &[Behaviour] = &[
    Behaviour::of("a gateway", "gateway-no-usage", "https://github.com/simonw/llm/issues/1697")
        .answers(200, completion!(r#""content":"Once upon""#, r#""stop""#, ""))
        .becomes_saying(NoUsage, "usage is missing"),
    Behaviour::of("a gateway", "gateway-null-usage", "https://github.com/simonw/llm/issues/1697")
        .answers(200, completion!(r#""content":"Once upon""#, r#""stop""#, r#","usage":null"#))
        .becomes_saying(NoUsage, "usage is missing"),
    Behaviour::of("a gateway", "gateway-null-counts", "https://github.com/openai/openai-agents-python/pull/1181")
        .answers(
            200,
            completion!(
                r#""content":"Once upon""#,
                r#""stop""#,
                r#","usage":{"prompt_tokens":null,"completion_tokens":null,"total_tokens":null}"#
            ),
        )
        .becomes_saying(NoUsage, "prompt_tokens is null"),
    Behaviour::of("a gateway", "gateway-error-in-choice", "https://github.com/genkit-ai/genkit/pull/6259")
        .answers(200, completion!(r#""content":"Once upon""#, r#""error","error":{"code":502,"message":"Upstream connection lost"}"#))
        .becomes_saying(RetriedUncounted, "Upstream connection lost"),
    Behaviour::of("a gateway", "gateway-gzip", "https://github.com/Anionex/agent-vision-toolkit/pull/36")
        .answers(200, completion!(r#""content":"Once upon""#, r#""stop""#))
        .with(GZIP)
        .gzipped()
        .becomes_saying(Completed, "Once upon"),
    Behaviour::of("a gateway", "gateway-gzip-without-header", "https://github.com/Pasta-Devs/Marinara-Engine/pull/801")
        .answers(200, completion!(r#""content":"Once upon""#, r#""stop""#))
        .gzipped()
        .becomes_saying(Completed, "Once upon"),
    Behaviour::of("a gateway", "gateway-gzip-header-alone", "https://github.com/diegosouzapw/OmniRoute/issues/2561")
        .answers(200, completion!(r#""content":"Once upon""#, r#""stop""#))
        .with(GZIP)
        .becomes_saying(Completed, "Once upon"),
    Behaviour::of("a gateway", "gateway-gzip-in-message", "https://github.com/router-for-me/CLIProxyAPI/issues/1895")
        .answers(400, r#"{"error":{"message":"\u001f\ufffd\b\u0000\u0000\u0000","type":"invalid_request_error"}}"#)
        .becomes_saying(FailsAtOnce, "\\u{1f}\u{fffd}\\u{8}\\u{0}\\u{0}\\u{0}"),
    Behaviour::of("a gateway", "gateway-cut-body", "https://github.com/bytedance/deer-flow/issues/1923")
        .acts(Fault::TruncatedBody)
        .becomes(Retried),
    Behaviour::of("a gateway", "gateway-web-page", "https://github.com/DexForce/EmbodiChain/pull/297")
        .answers(200, r#"<!doctype html><html lang="en"><head><meta charset="utf-8"></head><body><div id="root"></div></body></html>"#)
        .with(HTML)
        .becomes_saying(Unreadable, "an HTML page"),
    Behaviour::of("a gateway", "gateway-date-in-retry-after", "https://github.com/wso2/docs-apim/pull/11858")
        .answers(429, r#"{"code":"900800","message":"Message throttled out","description":"You have exceeded your quota","nextAccessTime":"9999-Dec-31 23:59:59+0000 UTC"}"#)
        .with(&[("retry-after", "Fri, 31 Dec 9999 23:59:59 GMT")])
        .becomes_saying(Waits(Some(86_400_000)), "Message throttled out"),
    Behaviour::of("a model router", "router-409", "https://github.com/NousResearch/hermes-agent/pull/34076")
        .answers(409, r#"{"error":{"code":"model_not_allowed_for_remote_chat","message":"Remote chat is limited to the compatible shared model pool so it cannot force protected model swaps."}}"#)
        .becomes_saying(Retried, "Remote chat is limited to the compatible shared model pool"),
    Behaviour::of("9router", "9router-end-of-stream", "https://github.com/decolua/9router/issues/3492")
        .answers(200, concat!(completion!(r#""content":"Once upon""#, r#""stop""#), "data: [DONE]\n\n"))
        .with(EVENTS)
        .becomes_saying(Completed, "Once upon"),
    Behaviour::of("Bifrost", "bifrost-error-without-counts", "https://github.com/maximhq/bifrost/issues/5425")
        .answers(
            200,
            completion!(
                r#""content":"{\"events\": [{\"title\": \"partial""#,
                r#""error""#,
                r#","usage":{"prompt_tokens":null,"completion_tokens":null,"total_tokens":0}"#
            ),
        )
        .becomes_saying(RetriedUncounted, "`error`"),
    Behaviour::of("Cloudflare", "cloudflare-524", "https://github.com/ollama/ollama/issues/3694")
        .answers(524, "<!DOCTYPE html>\n<html lang=\"en-US\">\n<head>\n<title>example.com | 524: A timeout occurred</title>\n</head>\n<body></body>\n</html>\n")
        .with(HTML)
        .becomes_saying(Retried, "524: A timeout occurred"),
    Behaviour::of("Cloudflare", "cloudflare-520", "https://github.com/n8n-io/n8n/issues/18275")
        .answers(520, "<!DOCTYPE html>\n<html lang=\"en-US\">\n<head>\n<title>api.openai.com | 520: Web server is returning an unknown error</title>\n</head>\n<body></body>\n</html>\n")
        .with(HTML)
        .becomes_saying(Retried, "520: Web server is returning an unknown error"),
    Behaviour::of("copilot-api", "copilot-no-object", "https://github.com/caozhiyuan/copilot-api/pull/247")
        .answers(200, r#"{"id":"1","created":1700000000,"model":"theirs","choices":[{"index":0,"message":{"role":"assistant","content":"Once upon"},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":2,"total_tokens":11}}"#)
        .becomes_saying(Completed, "Once upon"),
    Behaviour::of("Dynamo", "dynamo-not-ready", "https://github.com/ai-dynamo/dynamo/pull/10995")
        .answers(503, r#"{"message":"Model `theirs` is not ready to serve requests yet. The deployment may still be starting up or is not fully provisioned. Please retry shortly.","type":"service_unavailable","code":503}"#)
        .becomes_saying(Waits(None), "is not ready to serve requests yet."),
    Behaviour::of("Envoy", "envoy-plain-text", "https://github.com/gpustack/gpustack/issues/4419")
        .answers(503, "upstream connect error or disconnect/reset before headers. reset reason: connection termination")
        .with(TEXT)
        .becomes_saying(Waits(None), "upstream connect error or disconnect/reset before headers. reset reason: connection termination"),
    Behaviour::of("fms-guardrails", "fms-details", "https://github.com/foundation-model-stack/fms-guardrails-orchestrator/issues/297")
        .answers(500, r#"{"code":500,"details":"unexpected error occurred while processing request"}"#)
        .becomes_saying(Retried, "unexpected error occurred while processing request"),
    Behaviour::of("HAProxy", "haproxy-504", "https://github.com/Mintplex-Labs/anything-llm/issues/1722")
        .answers(504, "<html><body><h1>504 Gateway Time-out</h1>\nThe server didn't respond in time.\n</body></html>\n")
        .with(&[("content-type", "text/html")])
        .becomes_saying(Retried, "504 Gateway Time-out"),
    Behaviour::of("llama-swap", "llama-swap-unknown-model", "https://github.com/mostlygeek/llama-swap/issues/921")
        .answers(404, r#"{"error":"no model id could be identified","src":"llama-swap"}"#)
        .becomes_saying(Retried, "no model id could be identified"),
    Behaviour::of("llama-swap", "llama-swap-no-start", "https://github.com/mostlygeek/llama-swap/issues/218")
        .answers(502, "unable to start process: upstream command exited prematurely but successfully")
        .with(TEXT)
        .becomes_saying(Retried, "unable to start process: upstream command exited prematurely but successfully"),
    Behaviour::of("llm-gateway", "llm-gateway-wrapped-comment", "https://github.com/mnfst/llm-gateway/issues/2053")
        .answers(200, concat!("data: : OPENROUTER PROCESSING\n\ndata: ", completion!(r#""content":"Once upon""#, r#""stop""#), "\n\ndata: [DONE]\n\n"))
        .with(EVENTS)
        .becomes_saying(Completed, "Once upon"),
    Behaviour::of("nginx", "nginx-413", "https://github.com/ChronoAIProject/NyxID/issues/957")
        .answers(413, "<html>\r\n<head><title>413 Request Entity Too Large</title></head>\r\n<body>\r\n<center><h1>413 Request Entity Too Large</h1></center>\r\n<hr><center>nginx</center>\r\n</body>\r\n</html>\r\n")
        .with(&[("content-type", "text/html")])
        .becomes_saying(FailsAtOnce, "413 Request Entity Too Large"),
    Behaviour::of("One API", "one-api-307", "https://github.com/songquanpeng/one-api/issues/533")
        .answers(307, "")
        .with(&[("location", "https://api.example.com/v1/chat/completions")])
        .becomes_saying(Retried, "the engine redirects to another address"),
    Behaviour::of("a proxy", "proxy-302", "https://github.com/openai/openai-dotnet/issues/536")
        .answers(302, "")
        .with(&[("location", "https://sso.example.com/login")])
        .becomes_saying(Retried, "the engine redirects to another address"),
    Behaviour::of("OpenProxy", "openproxy-events", "https://github.com/quangdang46/openproxy/issues/306")
        .answers(200, concat!(
            "data: {\"id\":\"1\",\"object\":\"chat.completion.chunk\",\"created\":1700000000,\"model\":\"theirs\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"Once \"},\"finish_reason\":null}],\"usage\":null}\n\n",
            "data: {\"id\":\"1\",\"object\":\"chat.completion.chunk\",\"created\":1700000000,\"model\":\"theirs\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"upon\"},\"finish_reason\":\"length\"}],\"usage\":null}\n\n",
            "data: {\"id\":\"1\",\"object\":\"chat.completion.chunk\",\"created\":1700000000,\"model\":\"theirs\",\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":2,\"total_tokens\":11}}\n\ndata: [DONE]\n\n",
        ))
        .with(EVENTS)
        .becomes_saying(Completed, "Once upon"),
];
