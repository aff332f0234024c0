//! Members of an answer that reveal what its engine computed before: cache hits, times, slots, and costs that depend on them.
//!
//! If accounts share the cache of an engine, a tenant could recover the prompt of another tenant from them, word by word. The names differ
//! by engine and version, so the words in a name are compared. `docs/engines.md` lists the members of each engine.

use crate::json::{Json, JsonText, Member, ObjectWriter, array};

/// Words of such names, sorted.
const TRACES: [&str; 57] = [
    "aiu",
    "cache",
    "cached",
    "caching",
    "copilot",
    "cost",
    "costs",
    "delay",
    "discount",
    "dp",
    "duration",
    "durations",
    "elapsed",
    "endpoint",
    "endpoints",
    "evaluated",
    "host",
    "instance",
    "iter",
    "itl",
    "kv",
    "latency",
    "metrics",
    "ms",
    "ns",
    "perf",
    "performance",
    "prefill",
    "prefix",
    "price",
    "progress",
    "queue",
    "queued",
    "region",
    "remote",
    "replica",
    "reused",
    "sec",
    "second",
    "seconds",
    "slot",
    "slots",
    "speed",
    "stats",
    "tbt",
    "throughput",
    "time",
    "times",
    "timing",
    "timings",
    "took",
    "tps",
    "transfer",
    "ttft",
    "ttlt",
    "us",
    "worker",
];

/// Whether a member of this name reveals what the engine computed before.
pub(super) fn is_trace(name: &str) -> bool {
    let letters: Vec<char> = name.chars().collect();
    let mut words = vec![String::new()];
    for (place, letter) in letters.iter().enumerate() {
        let (before, after) =
            (place.checked_sub(1).and_then(|place| letters.get(place)), letters.get(place + 1));
        if !letter.is_alphanumeric() || before.is_some_and(|before| starts_word(*before, *letter, after)) {
            words.push(String::new());
        }
        if let (true, Some(word)) = (letter.is_alphanumeric(), words.last_mut()) {
            word.extend(letter.to_lowercase());
        }
    }
    words.iter().any(|word| TRACES.binary_search(&word.as_str()).is_ok())
}

/// As in `cacheHit`, `KVCache` and `p50ms`.
fn starts_word(before: char, letter: char, after: Option<&char>) -> bool {
    let ends_acronym = before.is_uppercase() && after.is_some_and(|after| after.is_lowercase());
    (letter.is_uppercase() && (before.is_lowercase() || ends_acronym))
        || before.is_alphanumeric() && before.is_numeric() != letter.is_numeric()
}

/// Copies the choices of an answer without traces. The generated text with its tokens is unchanged.
pub(super) fn copy_choices(choices: &Member<'_>, writer: &mut ObjectWriter) {
    let shown: Vec<JsonText> =
        choices.value.elements().into_iter().flatten().map(choice_without_traces).collect();
    writer.copy(choices.raw_key, array(shown.iter().map(JsonText::as_json)).as_json());
}

fn choice_without_traces(choice: Json<'_>) -> JsonText {
    let mut writer = ObjectWriter::with_capacity(choice.as_str().len());
    for member in choice.members().into_iter().flatten() {
        match member.key().as_ref() {
            "message" | "text" | "logprobs" => writer.copy(member.raw_key, member.value),
            _ => copy_without_traces(&member, &mut writer),
        }
    }
    writer.finish()
}

/// Copies a member without traces at any depth, unless it is a trace or would be empty.
pub(super) fn copy_without_traces(member: &Member<'_>, writer: &mut ObjectWriter) {
    if is_trace(&member.key()) {
        return;
    }
    let shown = without_traces(member.value);
    if shown.as_str() != "{}" || member.value.as_str() == "{}" {
        writer.copy(member.raw_key, shown.as_json());
    }
}

fn without_traces(value: Json<'_>) -> JsonText {
    if let Some(members) = value.members() {
        let mut writer = ObjectWriter::with_capacity(value.as_str().len());
        members.for_each(|member| copy_without_traces(&member, &mut writer));
        writer.finish()
    } else if let Some(elements) = value.elements() {
        let shown: Vec<JsonText> = elements.map(without_traces).collect();
        array(shown.iter().map(JsonText::as_json))
    } else {
        value.to_text()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::super::Reader;
    use super::{TRACES, is_trace};
    use crate::chat::parse_completion;

    /// Answers of engines, each with its public source and the paths of the members that are hidden.
    const ANSWERS: &str = include_str!("engine_answers.jsonl");

    fn parsed(answer: &Value, shares_cache: bool) -> Value {
        let reader = Reader { shares_cache, ..Reader::CHARGED };
        let completion = parse_completion(answer.to_string().as_bytes(), reader).expect("a completion");
        serde_json::from_str(completion.body.as_str()).expect("JSON")
    }

    fn remove(value: &mut Value, path: &str) {
        let (parents, name) = path.rsplit_once('.').unwrap_or(("", path));
        let parent = parents.split('.').filter(|step| !step.is_empty()).fold(value, |at, step| {
            match step.parse::<usize>() {
                Ok(index) => &mut at[index],
                Err(_) => &mut at[step],
            }
        });
        assert!(parent.as_object_mut().and_then(|parent| parent.remove(name)).is_some(), "{path}");
    }

    #[test]
    fn the_answer_of_each_engine_loses_members_that_reveal_a_shared_cache_and_no_others() {
        for line in ANSWERS.lines() {
            let case: Value = serde_json::from_str(line).expect("JSON");
            let mut expected = parsed(&case["answer"], false);
            for path in case["hidden"].as_array().expect("paths") {
                remove(&mut expected, path.as_str().expect("a path"));
            }
            assert_eq!(parsed(&case["answer"], true), expected, "{}", case["engine"]);
        }
    }

    #[test]
    fn names_are_compared_by_word() {
        assert!(TRACES.is_sorted());
        for name in [
            "cached_tokens",
            "promptCacheHitTokens",
            "server-time-to-first-token",
            "x_prefill_progress",
            "TTFT",
            "KVCacheHitTokens",
            "GPUTime",
            "p50ms",
            "id_slot",
        ] {
            assert!(is_trace(name), "{name}");
        }
        for name in [
            "",
            "sentiment",
            "architecture",
            "created",
            "service_tier",
            "system_fingerprint",
            "search_results",
            "reasoning_tokens",
        ] {
            assert!(!is_trace(name), "{name}");
        }
    }

    #[test]
    fn a_count_of_the_cache_is_hidden_whatever_its_key_looks_like() {
        let answer = r#"{"choices":[{"index":0,"message":{"role":"assistant","content":"hi","cached":1},"finish_reason":"stop"}],
            "\u0074imings":{"prompt_ms":1},"extra":[[{"cached_tokens":5,"kept":1}],{}],"empty":{},
            "usage":{"prompt_tokens":3,"completion_tokens":5,"details":{"deep":{"cached_tokens":2}}}}"#;
        let answer = serde_json::from_str(answer).expect("JSON");
        let shown = parsed(&answer, true);
        assert_eq!(shown["choices"][0]["message"]["cached"], 1);
        assert_eq!(
            (&shown["extra"], &shown["empty"]),
            (&serde_json::json!([[{"kept": 1}], {}]), &serde_json::json!({}))
        );
        assert!(shown.get("timings").is_none() && shown["usage"].get("details").is_none(), "{shown}");
    }
}
