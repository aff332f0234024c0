//! The `chat.completion` that answers a prompt, and the broken forms of it.

use std::fmt::Write as _;
use std::ops::RangeInclusive;

use serde_json::Value;

use super::faults::Fault;
use super::forms::{Form, write_vectors};
use super::prompt::{ChatRequest, digest};

const ECHO_TOKENS: usize = 6;
/// Words of one token each.
const WORDS: [&str; 16] = [
    " one", " two", " six", " ten", " sun", " sea", " sky", " owl", " fox", " elm", " oak", " ivy", " bay",
    " dew", " fog", " ice",
];
/// A huge body has at least 16 MiB.
const HUGE_BYTES: usize = 17 << 20;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Completion {
    pub(super) digest: u64,
    pub(super) draw: u64,
    pub(super) prompt_tokens: usize,
    pub(super) cached_tokens: usize,
    pub(super) completion_tokens: usize,
    pub(super) choices: usize,
    /// The choices that `usage` counts.
    pub(super) counted_choices: usize,
    pub(super) has_logprobs: bool,
    pub(super) finish_reason: &'static str,
    /// The answer, if it is not the echo and its words.
    pub(super) said: Option<String>,
    pub(super) form: Form,
}

impl Completion {
    /// Draws the answer; `wanted` overrides the drawn length, `max_tokens` limits both.
    pub(super) fn draw(
        request: &ChatRequest<'_>,
        seed: u64,
        range: &RangeInclusive<usize>,
        wanted: Option<usize>,
    ) -> Self {
        let draw = mix(request.fingerprint() ^ mix(seed));
        let (shortest, longest) = ((*range.start()).max(1), (*range.end()).max(1));
        let span = longest.saturating_sub(shortest) as u64 + 1;
        let drawn = shortest + usize::try_from(mix(draw) % span).unwrap_or(0);
        let length = wanted.unwrap_or(drawn).max(1);
        let limit = request.tokens_max().unwrap_or(usize::MAX);
        Self {
            digest: digest(request.last_user_content()),
            draw,
            prompt_tokens: request.token_count(),
            cached_tokens: 0,
            completion_tokens: length.min(limit),
            choices: request.choices(),
            counted_choices: request.choices(),
            has_logprobs: request.wants_logprobs(),
            finish_reason: if length > limit { "length" } else { "stop" },
            said: None,
            form: Form::Chat,
        }
    }

    /// The body of the answer. `model` is a JSON string with its quotes; `id` names this attempt.
    pub(super) fn render(&self, id: u64, created: u64, model: &str, fault: Option<Fault>) -> String {
        let model = if fault == Some(Fault::Lie) { "\"another-model\"" } else { model };
        let (prefix, object) = self.form.names();
        let mut body = String::with_capacity(320 + self.choices * (self.completion_tokens * 4 + 128));
        let _ = write!(
            body,
            r#"{{"id":"{prefix}-{id:016x}","object":"{object}","created":{created},"model":{model},"#
        );
        match &self.form {
            Form::Vectors(digests, is_base64) => {
                body.push_str(r#""data":["#);
                write_vectors(digests, *is_base64, &mut body);
            }
            Form::Chat | Form::Texts(_) => self.write_choices(fault, &mut body),
        }
        body.push(']');
        self.write_usage(&mut body, fault);
        body.push('}');
        match fault {
            Some(Fault::BadJson) => body.replace(r#","model":"#, r#","model"#),
            Some(Fault::Pretty) => spread(&body),
            _ => body,
        }
    }

    /// The digest of the text that a choice continues.
    fn digest_of(&self, choice: usize) -> u64 {
        match &self.form {
            Form::Texts(digests) => {
                let per_text = (self.choices / digests.len().max(1)).max(1);
                digests.get(choice / per_text).copied().unwrap_or(self.digest)
            }
            Form::Chat | Form::Vectors(..) => self.digest,
        }
    }

    fn write_choices(&self, fault: Option<Fault>, body: &mut String) {
        body.push_str(r#""choices":["#);
        let is_chat = self.form == Form::Chat;
        let opening = if is_chat { r#""message":{"role":"assistant","content":""# } else { r#""text":""# };
        for index in 0..self.choices {
            let comma = if index > 0 { "," } else { "" };
            let _ = write!(body, r#"{comma}{{"index":{index},{opening}"#);
            match &self.said {
                Some(said) => {
                    let quoted = Value::from(said.as_str()).to_string();
                    body.push_str(&quoted[1..quoted.len() - 1]);
                }
                None => {
                    let digest = self.digest_of(index);
                    let digest = if fault == Some(Fault::Lie) { !digest } else { digest };
                    let _ = write!(body, "echo:{digest:016x}");
                    self.write_words(body, index);
                }
            }
            if fault == Some(Fault::HugeBody) {
                body.extend(std::iter::repeat_n('x', HUGE_BYTES));
            }
            let logprobs = if self.has_logprobs { r#"{"content":[]}"# } else { "null" };
            let closing = if is_chat { "\"}" } else { "\"" };
            let _ =
                write!(body, r#"{closing},"logprobs":{logprobs},"finish_reason":"{}"}}"#, self.finish_reason);
        }
    }

    fn write_words(&self, body: &mut String, choice: usize) {
        let mut bits = mix(self.draw ^ choice as u64);
        for at in ECHO_TOKENS..self.completion_tokens {
            if at % 16 == 0 {
                bits = mix(bits);
            }
            body.push_str(WORDS[(bits & 15) as usize]);
            bits >>= 4;
        }
    }

    fn write_usage(&self, body: &mut String, fault: Option<Fault>) {
        let prompt = self.prompt_tokens;
        let completion = self.completion_tokens * self.counted_choices;
        let (completion, total) = match fault {
            Some(Fault::UsageInflated) => {
                let inflated = completion.saturating_mul(10).saturating_add(1_000_000);
                (inflated.to_string(), (prompt + inflated).to_string())
            }
            None if matches!(self.form, Form::Vectors(..)) => {
                let _ = write!(body, r#","usage":{{"prompt_tokens":{prompt},"total_tokens":{prompt}}}"#);
                return;
            }
            _ => (completion.to_string(), (prompt + completion).to_string()),
        };
        let _ = write!(
            body,
            r#","usage":{{"prompt_tokens":{prompt},"total_tokens":{total},"completion_tokens":{completion},"prompt_tokens_details":{{"cached_tokens":{}}}}}"#,
            self.cached_tokens
        );
    }
}

/// The same JSON with line breaks and tabs between its tokens.
fn spread(json: &str) -> String {
    let mut spread = String::with_capacity(json.len() * 2);
    let (mut inside, mut escaped) = (false, false);
    for character in json.chars() {
        inside ^= character == '"' && !escaped;
        escaped = inside && character == '\\' && !escaped;
        match character {
            '{' | '[' | ',' if !inside => {
                spread.push(character);
                spread.push_str("\r\n\t");
            }
            '}' | ']' if !inside => {
                spread.push('\n');
                spread.push(character);
            }
            ':' if !inside => spread.push_str(" : "),
            _ => spread.push(character),
        }
    }
    spread.push('\n');
    spread
}

/// One step of SplitMix64 (Steele, Lea and Flood, 2014): an evenly spread 64-bit hash of its input.
pub(super) fn mix(value: u64) -> u64 {
    let mut mixed = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// A number from 0 to 1 (exclusive) for a hash.
pub(super) fn unit(hash: u64) -> f64 {
    (hash >> 11) as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::super::prompt::echo_of;
    use super::*;

    fn complete(fields: &str) -> Completion {
        let body = format!(r#"{{"model":"m","messages":[{{"role":"user","content":"hello"}}]{fields}}}"#);
        Completion::draw(&ChatRequest::parse(body.as_bytes()).unwrap(), 7, &(8..=40), None)
    }

    fn render(completion: &Completion, fault: Option<Fault>) -> String {
        completion.render(1, 2, "\"m\"", fault)
    }

    #[test]
    fn the_answer_is_a_completion_whose_counts_agree() {
        let completion = complete(r#","n":2"#);
        let value: Value = serde_json::from_str(&render(&completion, None)).unwrap();
        let content = value["choices"][1]["message"]["content"].as_str().unwrap();
        assert!(content.starts_with(&echo_of("hello")));
        let counts = ["prompt_tokens", "completion_tokens", "total_tokens"];
        let counts = counts.map(|name| value["usage"][name].as_u64().unwrap());
        assert_eq!(counts[0] + counts[1], counts[2]);
        assert_eq!(counts[1], 2 * completion.completion_tokens as u64);
        assert!((8..=40).contains(&completion.completion_tokens));
        assert_eq!(value["choices"][0]["finish_reason"], "stop");
    }

    #[test]
    fn the_limit_cuts_the_answer_and_says_so() {
        let completion = complete(r#","max_tokens":3"#);
        assert_eq!((completion.completion_tokens, completion.finish_reason), (3, "length"));
        assert_eq!(complete(""), complete(""));
    }

    #[test]
    fn a_spread_answer_is_the_same_value() {
        let completion = complete("");
        let spread = render(&completion, Some(Fault::Pretty));
        assert!(spread.contains("\r\n"));
        let values =
            [spread, render(&completion, None)].map(|body| serde_json::from_str::<Value>(&body).unwrap());
        assert_eq!(values[0], values[1]);
    }

    #[test]
    fn what_is_said_back_is_said_to_the_letter() {
        let said = "a \"quoted\" <word>\n";
        let completion = Completion { said: Some(said.to_owned()), ..complete("") };
        let value: Value = serde_json::from_str(&render(&completion, None)).unwrap();
        assert_eq!(value["choices"][0]["message"]["content"], said);
    }

    #[test]
    fn bad_json_is_not_json() {
        assert!(serde_json::from_str::<Value>(&render(&complete(""), Some(Fault::BadJson))).is_err());
    }
}
