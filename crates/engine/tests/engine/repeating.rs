use serde_json::{Value, json};

use crate::support::Engine;

/// Some hundred tokens, because the differences mostly vanish with fewer.
const QUESTION: &str = "What is a batch, and why would anyone want one at night? The river is wide, the sky is dark, the price of a token \
    falls, and the queue waits for its engine. The model reads a prompt, keeps it in its cache, and gives an answer of stone. \
    The engine counts what it reads and what it writes, and nobody looks at the clock before the morning comes again.";

/// Answers with all probabilities, so that every bit of them is compared.
fn ask(engine: &Engine, fields: &Value) -> Value {
    let mut all = json!({ "max_tokens": 60, "ignore_eos": true, "logprobs": true, "top_logprobs": 5 });
    all.as_object_mut().expect("fields").extend(fields.as_object().expect("fields").clone());
    engine.ask(QUESTION, &all)["choices"].take()
}

#[test]
fn a_request_with_a_seed_repeats_exactly_where_it_is_alone() {
    for flags in [&["--parallel", "1"][..], &[]] {
        let engine = Engine::start(flags);
        for fields in [json!({ "seed": 5 }), json!({ "seed": 5, "temperature": 1.5, "n": 3 })] {
            let first = ask(&engine, &fields);
            for other in ["Hello.", QUESTION, "What is a batch, and why not?"] {
                engine.ask(other, &json!({ "max_tokens": 30 }));
                assert_eq!(ask(&engine, &fields), first, "{flags:?} {fields} after {other:?}");
            }
        }
    }
}
