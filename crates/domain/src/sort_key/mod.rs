//! The order in which the queue is swept: requests that share a prompt prefix share the first bytes of their key.
//!
//! The prompt is written as one canonical stream (model, tools, then role and content of each message) into a keyed hash,
//! and at certain places, which depend on nothing but the stream before them, two bytes of the hash so far are appended
//! to the key: at the end of the tools and of every message, and 256, 512, 1 Ki … 64 Ki bytes after each such end, sixty-four
//! cuts at most, of which the second half keeps a distance. Two streams that agree up to a cut therefore agree in all key bytes up to it, and hardly ever after the
//! first cut past their difference: byte order on keys is a depth-first walk of the tree of prefixes, as in a radix-tree
//! cache (L. Zheng et al., "SGLang: Efficient Execution of Structured Language Model Programs", 2024, section 3).
//! The secret keeps a client from choosing where its requests fall.

mod blocks;
mod chain;

pub use blocks::{PromptBlock, PromptBlocks};
use chain::Chain;

use crate::json::{Json, Piece};

/// Ends of parts of the stream: bytes that no UTF-8 text contains, so that no two prompts write the same stream.
mod marks {
    pub(super) const MODEL_END: &[u8] = &[0xFF];
    pub(super) const TOOLS_END: &[u8] = &[0xFE];
    pub(super) const ROLE_END: &[u8] = &[0xFD];
    pub(super) const PARTS: &[u8] = &[0xFC];
    pub(super) const TOOL_CALLS: &[u8] = &[0xFB];
    pub(super) const MESSAGE_END: &[u8] = &[0xFA];
    pub(super) const INPUTS: &[u8] = &[0xF9];
}

/// A place in the sweep's order: at most 128 bytes, compared byte by byte.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SortKey(Box<[u8]>);

impl SortKey {
    /// The most bytes a key has.
    pub const MAX_BYTES: usize = 128;

    /// The key of a checked body under this installation's `secret`: that of its messages, or else of its `prompt` or `input`.
    ///
    /// Strings count by their contents (`"\u0041"` is `"A"`), content parts and tools by their compact text. The order of members and
    /// fields outside the prompt do not count.
    pub fn compute(secret: &[u8; 32], body: Json<'_>) -> Self {
        let mut chain = Chain::new(secret);
        absorb_prompt(&mut chain, &Prompt::find(body));
        Self(chain.key().into())
    }

    /// The same, and the blocks of the prompt, from one pass.
    pub fn compute_with_blocks(secret: &[u8; 32], body: Json<'_>) -> (Self, PromptBlocks) {
        let mut chain = Chain::with_blocks(secret);
        absorb_prompt(&mut chain, &Prompt::find(body));
        (Self(chain.key().into()), chain.take_blocks())
    }

    /// The key stored as `bytes`, cut at [`SortKey::MAX_BYTES`].
    pub fn from_bytes(bytes: &[u8]) -> Self {
        Self(bytes[..bytes.len().min(Self::MAX_BYTES)].into())
    }

    /// The key's cuts, in order.
    pub fn cuts(&self) -> impl Iterator<Item = &[u8]> {
        self.0.chunks(chain::CUT_BYTES)
    }

    /// The number of leading cuts that two keys share: how much of their prompts agrees. Single bytes agree by chance.
    pub fn shared_cuts(&self, other: &Self) -> usize {
        self.cuts().zip(other.cuts()).take_while(|(own, other)| own == other).count()
    }

    /// The bytes to store.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

/// The members of a body that form its prompt.
#[derive(Default)]
struct Prompt<'a> {
    model: Option<Json<'a>>,
    tools: Option<Json<'a>>,
    messages: Option<Json<'a>>,
    /// Of a body that has no messages.
    inputs: Option<Json<'a>>,
}

impl<'a> Prompt<'a> {
    fn find(body: Json<'a>) -> Self {
        let mut prompt = Self::default();
        for member in body.members().into_iter().flatten() {
            match member.key().as_ref() {
                "model" => prompt.model = Some(member.value),
                "tools" => prompt.tools = Some(member.value).filter(|tools| !tools.is_null()),
                "messages" => prompt.messages = Some(member.value),
                "prompt" | "input" => prompt.inputs = Some(member.value),
                _ => {}
            }
        }
        prompt
    }
}

fn absorb_prompt(chain: &mut Chain, prompt: &Prompt<'_>) {
    absorb_string(chain, prompt.model);
    chain.absorb(marks::MODEL_END);
    if let (None, Some(inputs)) = (prompt.messages, prompt.inputs) {
        return absorb_inputs(chain, inputs);
    }
    if let Some(tools) = prompt.tools {
        chain.absorb(tools.as_str().as_bytes());
        chain.absorb(marks::TOOLS_END);
        chain.cut_at_end();
    } else {
        chain.begin_message();
    }
    for message in prompt.messages.and_then(Json::elements).into_iter().flatten() {
        if chain.is_complete() {
            break;
        }
        absorb_message(chain, message);
    }
}

/// Absorbs texts one after the other, and tokens in their compact form.
fn absorb_inputs(chain: &mut Chain, inputs: Json<'_>) {
    chain.absorb(marks::INPUTS);
    chain.begin_message();
    let several = inputs.elements().into_iter().flatten();
    for input in several.chain(inputs.elements().is_none().then_some(inputs)) {
        if chain.is_complete() {
            break;
        }
        match input.string_pieces() {
            Some(_) => absorb_string(chain, Some(input)),
            None => {
                chain.absorb(marks::PARTS);
                chain.absorb(input.as_str().as_bytes());
            }
        }
        chain.absorb(marks::MESSAGE_END);
        chain.cut_at_end();
    }
}

fn absorb_message(chain: &mut Chain, message: Json<'_>) {
    let (mut role, mut content, mut tool_calls) = (None, None, None);
    for member in message.members().into_iter().flatten() {
        match member.key().as_ref() {
            "role" => role = Some(member.value),
            "content" => content = Some(member.value),
            "tool_calls" => tool_calls = Some(member.value).filter(|calls| !calls.is_null()),
            _ => {}
        }
    }
    absorb_string(chain, role);
    chain.absorb(marks::ROLE_END);
    absorb_string(chain, content);
    if let Some(parts) = content.filter(|content| content.elements().is_some()) {
        chain.absorb(marks::PARTS);
        chain.absorb(parts.as_str().as_bytes());
    }
    if let Some(calls) = tool_calls {
        chain.absorb(marks::TOOL_CALLS);
        chain.absorb(calls.as_str().as_bytes());
    }
    chain.absorb(marks::MESSAGE_END);
    chain.cut_at_end();
}

/// Absorbs the contents of a string, if it is one.
fn absorb_string(chain: &mut Chain, value: Option<Json<'_>>) {
    for piece in value.and_then(Json::string_pieces).into_iter().flatten() {
        match piece {
            Piece::Plain(run) => chain.absorb(run.as_bytes()),
            Piece::Escaped(letter) => chain.absorb(letter.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
}

#[cfg(test)]
mod tests;
