//! The request body, read no further than the engine needs.

use std::borrow::Cow;
use std::fmt;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use serde::Deserialize;
use serde::de::{Deserializer, Error, SeqAccess, Visitor};
use serde_json::value::RawValue;
use sha2::{Digest as _, Sha256};

use super::cache::BLOCK_TOKENS;

/// Bytes of the canonical prompt that count as one token.
const TOKEN_BYTES: usize = 4;

/// Other fields are ignored.
#[derive(Deserialize)]
pub(super) struct ChatRequest<'a> {
    #[serde(borrow)]
    pub(super) model: Cow<'a, str>,
    #[serde(borrow)]
    messages: Vec<Message<'a>>,
    #[serde(borrow)]
    tools: Option<&'a RawValue>,
    max_tokens: Option<usize>,
    max_completion_tokens: Option<usize>,
    n: Option<usize>,
    logprobs: Option<bool>,
    stream: Option<bool>,
    #[serde(borrow)]
    /// Prompts share blocks only if their salts are the same.
    pub(super) cache_salt: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    role: Cow<'a, str>,
    #[serde(borrow, default)]
    content: Text<'a>,
}

impl<'a> ChatRequest<'a> {
    pub(super) fn parse(body: &'a [u8]) -> Result<Self, String> {
        let request: Self = serde_json::from_slice(body).map_err(|error| error.to_string())?;
        if request.messages.is_empty() {
            return Err("messages must have at least one element".to_owned());
        }
        if request.stream == Some(true) {
            return Err("this engine does not stream".to_owned());
        }
        if request.cache_salt.as_deref() == Some("") {
            return Err("cache_salt must not be empty".to_owned());
        }
        if request.tokens_max() == Some(0) || !(1..=128).contains(&request.choices()) {
            return Err("max_tokens must be at least 1 and n from 1 to 128".to_owned());
        }
        Ok(request)
    }

    pub(super) fn tokens_max(&self) -> Option<usize> {
        self.max_completion_tokens.or(self.max_tokens)
    }

    pub(super) fn choices(&self) -> usize {
        self.n.unwrap_or(1)
    }

    pub(super) fn wants_logprobs(&self) -> bool {
        self.logprobs == Some(true)
    }

    /// The text of the last user message, or of the last message if there is no user message.
    pub(super) fn last_user_content(&self) -> &str {
        let last_user = self.messages.iter().rfind(|message| message.role == "user");
        last_user.or(self.messages.last()).map_or("", |message| &message.content.0)
    }

    pub(super) fn token_count(&self) -> usize {
        self.parts().map(str::len).sum::<usize>().div_ceil(TOKEN_BYTES)
    }

    pub(super) fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.parts().for_each(|part| hasher.write(part.as_bytes()));
        hasher.finish()
    }

    /// A hash for each full block of the canonical prompt, each chained over all before it, and the first over the salt.
    pub(super) fn block_hashes(&self) -> Vec<u64> {
        let prompt: String = self.parts().collect();
        let mut chained = {
            let mut hasher = DefaultHasher::new();
            self.model.hash(&mut hasher);
            self.cache_salt.iter().for_each(|salt| salt.hash(&mut hasher));
            hasher.finish()
        };
        let (blocks, _) = prompt.as_bytes().as_chunks::<{ BLOCK_TOKENS * TOKEN_BYTES }>();
        let chain = blocks.iter().map(|block| {
            let mut hasher = DefaultHasher::new();
            hasher.write_u64(chained);
            hasher.write(block);
            chained = hasher.finish();
            chained
        });
        chain.collect()
    }

    /// The canonical prompt in parts: the tools, then the role and the text of each message.
    fn parts(&self) -> impl Iterator<Item = &str> {
        let messages =
            self.messages.iter().flat_map(|message| [&*message.role, "\n", &*message.content.0, "\n"]);
        self.tools.map(RawValue::get).into_iter().chain(messages)
    }
}

/// The first eight bytes of the SHA-256 of a content.
pub(super) fn digest(content: &str) -> u64 {
    let hash = Sha256::digest(content.as_bytes());
    hash.iter().take(8).fold(0, |digest, byte| digest << 8 | u64::from(*byte))
}

/// The beginning of the answer to a last user message: `echo:` and the first 16 hexadecimal digits of the content's SHA-256.
pub fn echo_of(content: &str) -> String {
    format!("echo:{:016x}", digest(content))
}

/// A message's content: a string, the joined texts of its parts, or empty.
#[derive(Default)]
struct Text<'a>(Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextVisitor)
    }
}

struct TextVisitor;

#[derive(Deserialize)]
struct Part<'a> {
    #[serde(borrow, default)]
    text: Cow<'a, str>,
}

impl<'de> Visitor<'de> for TextVisitor {
    type Value = Text<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str("a string, an array of content parts, or null")
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Text(Cow::Borrowed(text)))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Text(Cow::Owned(text.to_owned())))
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(Text::default())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Self::Value, A::Error> {
        let mut text = String::new();
        while let Some(part) = parts.next_element::<Part>()? {
            text.push_str(&part.text);
        }
        Ok(Text(Cow::Owned(text)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_user_message_is_echoed_whatever_its_form() {
        let body = br#"{"model":"m","messages":[{"role":"user","content":"first"},
            {"role":"user","content":[{"type":"text","text":"a \"b"},{"type":"image_url"},{"type":"text","text":"c"}]},
            {"role":"assistant","content":null,"tool_calls":[]},{"role":"tool","content":"t"}],"temperature":0.5}"#;
        let request = ChatRequest::parse(body).unwrap();
        assert_eq!(request.last_user_content(), "a \"bc");
        assert_eq!(echo_of("abc"), "echo:ba7816bf8f01cfea");
    }

    #[test]
    fn prompts_share_the_hashes_of_their_shared_blocks() {
        let body = |tail: &str| {
            format!(r#"{{"model":"m","messages":[{{"role":"user","content":"{}{tail}"}}]}}"#, "x".repeat(200))
        };
        let (first, second) = (body("one"), body(&"two".repeat(30)));
        let first = ChatRequest::parse(first.as_bytes()).unwrap();
        let second = ChatRequest::parse(second.as_bytes()).unwrap();
        assert_eq!((first.token_count(), first.block_hashes().len()), (53, 3));
        assert_eq!(first.block_hashes(), second.block_hashes()[..3]);
        assert_ne!(first.fingerprint(), second.fingerprint());
    }

    #[test]
    fn prompts_share_no_block_under_different_salts() {
        let hashes = |salt: &str| {
            let text = "x".repeat(200);
            let body = format!(r#"{{"model":"m",{salt}"messages":[{{"role":"user","content":"{text}"}}]}}"#);
            ChatRequest::parse(body.as_bytes()).unwrap().block_hashes()
        };
        let [plain, one, other] = ["", r#""cache_salt":"one","#, r#""cache_salt":"other","#].map(hashes);
        assert_eq!((&one, &plain), (&hashes(r#""cache_salt":"one","#), &hashes(r#""cache_salt":null,"#)));
        assert!(one.iter().all(|hash| !other.contains(hash) && !plain.contains(hash)));
    }

    #[test]
    fn what_no_engine_takes_is_refused() {
        let message = r#""messages":[{"role":"user","content":"x"}]"#;
        for fields in [
            r#""messages":[]"#.to_owned(),
            message.replace('"', ""),
            format!(r#"{message},"stream":true"#),
            format!(r#"{message},"max_tokens":0"#),
            format!(r#"{message},"n":0"#),
            format!(r#"{message},"cache_salt":"""#),
        ] {
            assert!(
                ChatRequest::parse(format!(r#"{{"model":"m",{fields}}}"#).as_bytes()).is_err(),
                "{fields}"
            );
        }
    }
}
