//! The answer: a `chat.completion` object.

use serde::Serialize;

use super::calls::{self, Call, Calls};
use crate::{
    model::{Token, Vocabulary},
    sampling::Logprobs,
    scheduler::{Choice, Completion, Finish},
};

#[derive(Debug, Serialize)]
pub struct ChatCompletion {
    id: String,
    object: &'static str,
    created: u64,
    model: String,
    choices: Vec<ChoiceBody>,
    usage: Usage,
}

#[derive(Debug, Serialize)]
struct ChoiceBody {
    index: usize,
    message: Message,
    logprobs: Option<LogprobsBody>,
    finish_reason: &'static str,
}

#[derive(Debug, Serialize)]
struct Message {
    role: &'static str,
    content: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<ToolCall>,
}

#[derive(Debug, Serialize)]
struct ToolCall {
    id: String,
    r#type: &'static str,
    function: FunctionCall,
}

#[derive(Debug, Serialize)]
struct FunctionCall {
    name: String,
    arguments: String,
}

#[derive(Debug, Serialize)]
struct LogprobsBody {
    content: Vec<TokenBody>,
}

#[derive(Debug, Serialize)]
struct TokenBody {
    #[serde(flatten)]
    chosen: Probability,
    top_logprobs: Vec<Probability>,
}

#[derive(Debug, Serialize)]
struct Probability {
    token: String,
    logprob: f32,
    bytes: Vec<u8>,
}

#[derive(Debug, Serialize)]
struct Usage {
    prompt_tokens: usize,
    completion_tokens: usize,
    total_tokens: usize,
    prompt_tokens_details: PromptTokensDetails,
}

#[derive(Debug, Serialize)]
struct PromptTokensDetails {
    cached_tokens: usize,
}

/// The metadata of an answer.
#[derive(Debug)]
pub struct Heading {
    pub id: String,
    /// Seconds since 1970.
    pub created: u64,
    pub model: String,
    /// Whether the client asked for probabilities.
    pub shows_logprobs: bool,
    pub calls: Calls,
}

#[must_use]
pub fn render(heading: Heading, completion: Completion, vocabulary: &dyn Vocabulary) -> ChatCompletion {
    let completion_tokens = completion.choices.iter().map(|choice| choice.tokens).sum();
    let body = |(index, choice)| render_choice(index, choice, &heading, vocabulary);
    let choices = completion.choices.into_iter().enumerate().map(body).collect();
    ChatCompletion {
        id: heading.id,
        object: "chat.completion",
        created: heading.created,
        model: heading.model,
        choices,
        usage: Usage {
            prompt_tokens: completion.prompt_tokens,
            completion_tokens,
            total_tokens: completion.prompt_tokens + completion_tokens,
            prompt_tokens_details: PromptTokensDetails { cached_tokens: completion.cached_tokens },
        },
    }
}

fn render_choice(index: usize, choice: Choice, heading: &Heading, vocabulary: &dyn Vocabulary) -> ChoiceBody {
    let content = || choice.logprobs.iter().map(|token| render_token(token, vocabulary)).collect();
    let logprobs = heading.shows_logprobs.then(|| LogprobsBody { content: content() });
    let (text, calls) = calls::read(&heading.calls, choice.text);
    let called = !calls.is_empty() && calls.iter().all(|call| call.is_whole);
    let tool_call = |(number, Call { name, arguments, .. })| ToolCall {
        id: format!("call_{}{index:02x}{number:02x}", heading.id.trim_start_matches("chatcmpl-")),
        r#type: "function",
        function: FunctionCall { name, arguments },
    };
    let tool_calls = calls.into_iter().enumerate().map(tool_call).collect();
    ChoiceBody {
        index,
        logprobs,
        message: Message { role: "assistant", content: text, tool_calls },
        finish_reason: match choice.finish {
            _ if called => "tool_calls",
            Finish::Stop => "stop",
            Finish::Length => "length",
        },
    }
}

fn render_token(token: &Logprobs, vocabulary: &dyn Vocabulary) -> TokenBody {
    let probability = |token: Token, logprob| {
        let bytes = vocabulary.piece(token).to_vec();
        Probability { token: String::from_utf8_lossy(&bytes).into_owned(), logprob, bytes }
    };
    TokenBody {
        chosen: probability(token.token, token.logprob),
        top_logprobs: token.top.iter().map(|&(token, logprob)| probability(token, logprob)).collect(),
    }
}
