//! The benchmarks' requests: 1 KB chat bodies with sixteen system prompts, each with its own question.

use std::ops::Range;

pub(super) const MODEL: &str = "sim-model";

const DIGITS: usize = 12;
const CREATE_BYTES: usize = 1_024;
const SYSTEM_PROMPTS: usize = 16;
const BEFORE: &str = r#"{"request_body":"#;
const MARK: &str = "000000000000";

/// A Create Request body whose prompt number can be set in place.
#[derive(Debug, Clone)]
pub(super) struct CreateBody {
    text: Vec<u8>,
    system: Range<usize>,
    question: Range<usize>,
}

impl CreateBody {
    pub(super) fn new() -> Self {
        let head = format!(
            r#"{BEFORE}{{"model":"{MODEL}","messages":[{{"role":"system","content":"Manual {MARK} of the machine. "#
        );
        let middle = format!(
            r#""}},{{"role":"user","content":"Question {MARK}: what does it say?"}}],"max_tokens":64}}}}"#
        );
        let filling = "Keep the lid closed while the motor turns. ".repeat(24);
        let filling = &filling[..CREATE_BYTES - head.len() - middle.len()];
        let text = format!("{head}{filling}{middle}");
        let places: Vec<usize> = text.match_indices(MARK).map(|(place, _)| place).collect();
        let place = |number: usize| places[number]..places[number] + DIGITS;
        Self { system: place(0), question: place(1), text: text.into_bytes() }
    }

    pub(super) fn numbered(&mut self, number: usize) -> &[u8] {
        write_digits(&mut self.text[self.system.clone()], number % SYSTEM_PROMPTS);
        write_digits(&mut self.text[self.question.clone()], number);
        &self.text
    }

    /// The chat body only, as an engine gets it.
    pub(super) fn chat(&mut self, number: usize) -> &[u8] {
        let text = self.numbered(number);
        &text[BEFORE.len()..text.len() - 1]
    }
}

fn write_digits(place: &mut [u8], mut number: usize) {
    for digit in place.iter_mut().rev() {
        *digit = b'0' + u8::try_from(number % 10).unwrap_or(0);
        number /= 10;
    }
}

/// A completion of about a kilobyte.
pub(super) fn completion() -> Vec<u8> {
    let content = "The lid stays closed while the motor turns. ".repeat(16);
    format!(
        r#"{{"id":"chatcmpl-0","object":"chat.completion","created":1700000000,"model":"{MODEL}","choices":[{{"index":0,"message":{{"role":"assistant","content":"{content}"}},"logprobs":null,"finish_reason":"stop"}}],"usage":{{"prompt_tokens":240,"completion_tokens":180,"total_tokens":420}}}}"#
    )
    .into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_are_json_of_one_size_and_differ_by_their_number() {
        let mut body = CreateBody::new();
        let first = body.numbered(7).to_vec();
        let second = body.numbered(123_456).to_vec();
        assert_ne!(first, second);
        for text in [first, second] {
            assert_eq!(text.len(), CREATE_BYTES);
            let value: serde_json::Value = serde_json::from_slice(&text).unwrap();
            assert_eq!(value["request_body"]["model"], MODEL);
        }
        let chat: serde_json::Value = serde_json::from_slice(body.chat(42)).unwrap();
        assert!(chat["messages"][1]["content"].as_str().unwrap().contains("000000000042"));
        assert!(serde_json::from_slice::<serde_json::Value>(&completion()).is_ok());
    }
}
