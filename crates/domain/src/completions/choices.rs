//! Several completions one by one, as with chat completions: first all of the first prompt.

use crate::bodies::count_inputs;
use crate::chat;
use crate::json::{Json, JsonText, ObjectWriter};

/// The number of prompts in a stored body, and of completions of each.
pub fn choices_asked(body: Json<'_>) -> (usize, u32) {
    let prompt = body.members().into_iter().flatten().find(|member| member.key() == "prompt");
    (prompt.map_or(1, |prompt| count_inputs(prompt.value)), chat::choices_asked(body))
}

/// The same body for one of its completions, counted from 0: with only its prompt, without `n`, and with `seed`, if it has one, raised by
/// the number of the completion among those of its prompt.
pub fn for_one_choice(body: Json<'_>, index: u32) -> JsonText {
    let (prompts, n) = choices_asked(body);
    let one = chat::for_one_choice(body, index % n.max(1));
    if prompts <= 1 {
        return one;
    }
    let place = (index / n.max(1)) as usize;
    let mut writer = ObjectWriter::with_capacity(one.as_str().len());
    for member in one.as_json().members().into_iter().flatten() {
        match member.value.elements().and_then(|mut prompts| prompts.nth(place)) {
            Some(prompt) if member.key() == "prompt" => writer.json("prompt", prompt),
            _ => writer.copy(member.raw_key, member.value),
        }
    }
    writer.finish()
}
