//! Several choices one by one, for an engine that returns only one of them, or whose `usage` counts the tokens of one.

use crate::answers::{Completion, Usage, warn};
use crate::json::{Json, JsonText, ObjectWriter};

const ADDED_BYTES: usize = 32;

/// The number of choices that a stored body requests.
pub fn choices_asked(body: Json<'_>) -> u32 {
    let asked = body.members().into_iter().flatten().find(|member| member.key() == "n");
    asked.and_then(|member| member.value.as_integer_text()?.parse().ok()).unwrap_or(1)
}

/// The number of choices in a completion.
pub fn choices_given(completion: &Completion) -> u32 {
    let members = completion.body.as_json().members().into_iter().flatten();
    let choices = members.filter(|member| member.key() == "choices").filter_map(|it| it.value.elements());
    u32::try_from(choices.flatten().count()).unwrap_or(u32::MAX)
}

/// The same body for one of its choices, counted from 0: without `n`, and with `seed`, if it has one, raised by that number, so that the
/// choices differ.
pub fn for_one_choice(body: Json<'_>, index: u32) -> JsonText {
    let mut writer = ObjectWriter::with_capacity(body.as_str().len() + ADDED_BYTES);
    for member in body.members().into_iter().flatten() {
        let seed = || member.value.as_integer_text()?.parse::<i64>().ok();
        match member.key().as_ref() {
            "n" => {}
            "seed" => match seed() {
                Some(seed) => writer.integer("seed", seed.wrapping_add(index.into())),
                None => writer.copy(member.raw_key, member.value),
            },
            _ => writer.copy(member.raw_key, member.value),
        }
    }
    writer.finish()
}

/// Joins the completions of each prompt, `per_prompt` consecutive parts: the first with the choices of all, renumbered. Each prompt counts
/// once, as with an engine that draws several choices itself; the tokens of all choices count. `None` without parts.
pub fn join_choices(parts: &[Completion], per_prompt: u32) -> Option<Completion> {
    let first = parts.first()?;
    let mut usage = first.usage;
    let of_prompts = parts.iter().step_by(per_prompt.max(1) as usize);
    usage.prompt_tokens = of_prompts.fold(0, |sum, part| part.usage.prompt_tokens.saturating_add(sum));
    usage.completion_tokens =
        parts.iter().fold(0, |sum, part| part.usage.completion_tokens.saturating_add(sum));
    usage.total_tokens = usage.prompt_tokens.saturating_add(usage.completion_tokens);
    let bytes = parts.iter().map(|part| part.body.as_str().len() + ADDED_BYTES).sum();
    let mut writer = ObjectWriter::with_capacity(bytes);
    for member in first.body.as_json().members().into_iter().flatten() {
        match member.key().as_ref() {
            "choices" => writer.array("choices", number(parts).iter().map(JsonText::as_json)),
            "usage" => writer.json("usage", with_counts(member.value, usage).as_json()),
            _ => writer.copy(member.raw_key, member.value),
        }
    }
    let mut warnings = Vec::new();
    for warning in parts.iter().flat_map(|part| &part.warnings) {
        warn(&mut warnings, warning.param, warning.message.clone());
    }
    Some(Completion { body: writer.finish(), usage, warnings })
}

fn number(parts: &[Completion]) -> Vec<JsonText> {
    let mut numbered = Vec::with_capacity(parts.len());
    for part in parts {
        let body = part.body.as_json().members().into_iter().flatten();
        let choices = body.filter(|member| member.key() == "choices").filter_map(|it| it.value.elements());
        for choice in choices.flatten() {
            let mut writer = ObjectWriter::with_capacity(choice.as_str().len() + ADDED_BYTES);
            writer.integer("index", i64::try_from(numbered.len()).unwrap_or(i64::MAX));
            for member in choice.members().into_iter().flatten().filter(|member| member.key() != "index") {
                writer.copy(member.raw_key, member.value);
            }
            numbered.push(writer.finish());
        }
    }
    numbered
}

fn with_counts(usage: Json<'_>, counts: Usage) -> JsonText {
    let mut writer = ObjectWriter::with_capacity(usage.as_str().len() + ADDED_BYTES);
    let count = |tokens: u64| i64::try_from(tokens).unwrap_or(i64::MAX);
    for member in usage.members().into_iter().flatten() {
        match member.key().as_ref() {
            "prompt_tokens" => writer.integer("prompt_tokens", count(counts.prompt_tokens)),
            "completion_tokens" => writer.integer("completion_tokens", count(counts.completion_tokens)),
            "total_tokens" => writer.integer("total_tokens", count(counts.total_tokens)),
            _ => writer.copy(member.raw_key, member.value),
        }
    }
    writer.finish()
}
