//! The rules of each endpoint, for code that treats all endpoints alike.
//!
//! Each request is for one endpoint, stored in `requests.endpoint`. Bodies and answers follow the rules of each. The queue, leases,
//! settlement and charges are the same for all, and the sort key is that of the messages, the prompt or the input.

use crate::answers::{BadCompletion, Completion, Reader};
use crate::bodies::Sizing;
use crate::chat::{self, ChatBody};
use crate::completions::{self, CompletionBody};
use crate::embeddings::{self, EmbeddingBody};
use crate::endpoints::Endpoint;
use crate::faults::Faults;
use crate::json::{Json, JsonText};
use crate::limits::Limits;
use crate::money::TokenBound;

/// A valid body of an endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RequestBody {
    /// Of a chat completion.
    Chat(ChatBody),
    /// Of a completion.
    Completion(CompletionBody),
    /// Of embeddings.
    Embedding(EmbeddingBody),
}

impl RequestBody {
    /// Checks `value`, which is at `path` in the client's body (`request_body`), by the rules of `endpoint`. Fails with every fault, each
    /// with its path.
    pub fn parse(endpoint: Endpoint, value: Json<'_>, path: &str, limits: &Limits) -> Result<Self, Faults> {
        Ok(match endpoint {
            Endpoint::ChatCompletions => Self::Chat(ChatBody::parse(value, path, limits)?),
            Endpoint::Completions => Self::Completion(CompletionBody::parse(value, path, limits)?),
            Endpoint::Embeddings => Self::Embedding(EmbeddingBody::parse(value, path, limits)?),
        })
    }

    /// The endpoint of the body.
    pub const fn endpoint(&self) -> Endpoint {
        match self {
            Self::Chat(_) => Endpoint::ChatCompletions,
            Self::Completion(_) => Endpoint::Completions,
            Self::Embedding(_) => Endpoint::Embeddings,
        }
    }

    /// The client's name of the model.
    pub fn model(&self) -> &str {
        match self {
            Self::Chat(chat) => &chat.model,
            Self::Completion(completion) => &completion.model,
            Self::Embedding(embedding) => &embedding.model,
        }
    }

    /// The body as compact text, to be stored.
    pub const fn text(&self) -> &JsonText {
        match self {
            Self::Chat(chat) => &chat.body,
            Self::Completion(completion) => &completion.body,
            Self::Embedding(embedding) => &embedding.body,
        }
    }

    /// The compact text, without the facts about it.
    pub fn into_text(self) -> JsonText {
        match self {
            Self::Chat(chat) => chat.body,
            Self::Completion(completion) => completion.body,
            Self::Embedding(embedding) => embedding.body,
        }
    }

    /// The likely work for an engine, in tokens, for fairness between accounts until the real usage is known.
    pub fn estimate_cost(&self, sizing: &Sizing) -> u32 {
        match self {
            Self::Chat(chat) => chat.estimate_cost(sizing),
            Self::Completion(completion) => completion.estimate_cost(sizing),
            Self::Embedding(embedding) => embedding.estimate_cost(),
        }
    }

    /// The output limit of one completion, as sent to the engine; `None` for an endpoint without output.
    pub fn max_tokens(&self, sizing: &Sizing) -> Option<u32> {
        match self {
            Self::Chat(chat) => Some(chat.max_tokens(sizing)),
            Self::Completion(completion) => Some(completion.max_tokens(sizing)),
            Self::Embedding(_) => None,
        }
    }

    /// Refuses a body, which is at `path`, whose answer would be too long if it used its output limit.
    pub fn check_answer_size(&self, sizing: &Sizing, path: &str, faults: &mut Faults) {
        match self {
            Self::Chat(chat) => chat.check_answer_size(sizing, path, faults),
            Self::Completion(completion) => completion.check_answer_size(sizing, path, faults),
            // Only the engine knows the length of a vector.
            Self::Embedding(_) => {}
        }
    }

    /// The expected maximum of tokens, which prices the hold.
    pub fn token_bound(&self, sizing: &Sizing) -> TokenBound {
        match self {
            Self::Chat(chat) => chat.token_bound(sizing),
            Self::Completion(completion) => completion.token_bound(sizing),
            Self::Embedding(embedding) => embedding.token_bound(sizing),
        }
    }
}

/// Reads the body of an engine's 200 to a stored `body` of an endpoint. [`BadCompletion`] says whether another try may help.
pub fn parse_answer(
    endpoint: Endpoint,
    body: Json<'_>,
    answer: &[u8],
    reader: Reader<'_>,
) -> Result<Completion, BadCompletion> {
    match endpoint {
        Endpoint::ChatCompletions => chat::parse_completion(answer, reader),
        Endpoint::Completions => completions::parse_completion(answer, reader),
        Endpoint::Embeddings => embeddings::parse_embeddings(answer, reader, embeddings::inputs_asked(body)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZING: Sizing = Sizing { default_max_tokens: 100, image_tokens: 1_024, bytes_per_token: 2 };

    fn body(endpoint: Endpoint, text: &str) -> RequestBody {
        let value = crate::json::minimize(text.as_bytes(), 0).expect("JSON");
        RequestBody::parse(endpoint, value.as_json(), "request_body", &Limits::default()).expect("a body")
    }

    /// A body of each endpoint, with the same 8 bytes of text.
    fn bodies() -> [RequestBody; 3] {
        [
            body(
                Endpoint::ChatCompletions,
                r#"{"model":"chat","messages":[{"role":"user","content":"8 bytes."}],"max_tokens":7}"#,
            ),
            body(Endpoint::Completions, r#"{"model":"text","prompt":"8 bytes.","max_tokens":9}"#),
            body(Endpoint::Embeddings, r#"{"model":"vector","input":"8 bytes."}"#),
        ]
    }

    #[test]
    fn every_endpoint_tells_its_model_and_its_text() {
        assert_eq!(bodies().each_ref().map(RequestBody::model), ["chat", "text", "vector"]);
        assert_eq!(bodies().each_ref().map(RequestBody::endpoint), Endpoint::ALL);
        for body in bodies() {
            let text = body.text().clone();
            assert!(text.as_json().as_str().contains("8 bytes."));
            assert_eq!(body.into_text(), text);
        }
    }

    #[test]
    fn a_body_is_sized_by_the_rules_of_its_endpoint() {
        let bodies = bodies();
        assert_eq!(bodies.each_ref().map(|it| it.max_tokens(&SIZING)), [Some(7), Some(9), None]);
        let outputs = bodies.each_ref().map(|it| it.token_bound(&SIZING).output);
        assert_eq!(outputs, [7, 9, 0]);
        for (body, output) in bodies.iter().zip([7, 9, 0]) {
            let cost = body.estimate_cost(&SIZING);
            assert!((2 * output + 1..2 * output + 50).contains(&cost), "{cost} of {}", body.model());
            assert!(body.token_bound(&SIZING).input >= 4, "{}", body.model());
        }
    }

    #[test]
    fn an_answer_that_would_be_too_long_is_refused_where_its_length_is_known() {
        let long = Sizing { default_max_tokens: u32::MAX, ..SIZING };
        for (endpoint, text, expected) in [
            (
                Endpoint::ChatCompletions,
                r#"{"model":"m","messages":[{"role":"user","content":"a"}],"n":8,"logprobs":true,"top_logprobs":20}"#,
                true,
            ),
            (Endpoint::Completions, r#"{"model":"m","prompt":"a","n":8,"logprobs":5}"#, true),
            (Endpoint::Embeddings, r#"{"model":"m","input":"a"}"#, false),
        ] {
            let mut faults = Faults::default();
            body(endpoint, text).check_answer_size(&long, "request_body", &mut faults);
            assert_eq!(!faults.is_empty(), expected, "{}", endpoint.noun());
        }
    }
}
