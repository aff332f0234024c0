use serde_json::json;

use crate::support::{Engine, KEY};

#[test]
fn an_answer_is_a_chat_completion_with_true_usage() {
    let engine = Engine::start(&[]);
    let answer = engine.ask("Hello, who are you?", &json!({ "max_tokens": 5, "ignore_eos": true }));
    assert_eq!((&answer["object"], &answer["model"]), (&json!("chat.completion"), &json!("tiny")));
    assert!(answer["id"].as_str().is_some_and(|id| id.starts_with("chatcmpl-")));
    assert!(answer["created"].as_u64().is_some_and(|created| created > 1_700_000_000));
    let choice = &answer["choices"][0];
    assert_eq!((&choice["index"], &choice["finish_reason"]), (&json!(0), &json!("length")));
    assert_eq!(choice["message"]["role"], "assistant");
    let usage = &answer["usage"];
    assert_eq!(usage["completion_tokens"], 5);
    let prompt_tokens = usage["prompt_tokens"].as_u64().expect("a number");
    assert!(prompt_tokens > 5, "{usage}");
    assert_eq!(usage["total_tokens"], prompt_tokens + 5);
    assert!(
        (engine.metric("prompt_tokens_total") - f64::from(u32::try_from(prompt_tokens).expect("few"))).abs()
            < 0.5
    );
}

#[test]
fn the_prompts_tokens_grow_with_the_prompt_alone() {
    let engine = Engine::start(&[]);
    let usage = |question: &str, n: u32| {
        let answer = engine.ask(question, &json!({ "max_tokens": 3, "n": n, "ignore_eos": true }));
        let number = |name: &str| answer["usage"][name].as_u64().expect("a number");
        (number("prompt_tokens"), number("completion_tokens"))
    };
    let short = usage("x", 1);
    assert_eq!(usage("x", 4), (short.0, 12));
    // Each \u{1} is its own token for a byte-level tokenizer that never saw it.
    assert_eq!(usage(&"\u{1}".repeat(101), 1).0 - usage("\u{1}", 1).0, 100);
}

#[test]
fn the_model_ends_its_turn_and_a_stop_string_ends_it_earlier() {
    let engine = Engine::start(&["--parallel", "1"]);
    let whole = engine.ask("Hello, who are you?", &json!({ "max_tokens": 200 }));
    assert_eq!(whole["choices"][0]["finish_reason"], "stop", "{whole}");
    let text = whole["choices"][0]["message"]["content"].as_str().expect("a text");
    let middle = text.char_indices().nth(text.chars().count() / 2).expect("some text").0;
    let stop: String = text[middle..].chars().take(6).collect();
    let cut =
        engine.ask("Hello, who are you?", &json!({ "max_tokens": 200, "stop": [stop, "never to be seen"] }));
    let expected = &text[..text.find(&stop).expect("it is there")];
    assert_eq!(cut["choices"][0]["message"]["content"], expected);
    assert_eq!(cut["choices"][0]["finish_reason"], "stop");
}

#[test]
fn every_choice_is_answered_and_the_prompt_computed_once() {
    let engine = Engine::start(&["--parallel", "4"]);
    let question = "What is a batch, and why would anyone want one at night?";
    let fields = json!({ "n": 10, "max_tokens": 6, "temperature": 1.5, "seed": 7, "ignore_eos": true });
    let answer = engine.ask(question, &fields);
    let choices = answer["choices"].as_array().expect("choices");
    assert_eq!(choices.len(), 10);
    let indices: Vec<u64> = choices.iter().filter_map(|choice| choice["index"].as_u64()).collect();
    assert_eq!(indices, (0..10).collect::<Vec<_>>());
    assert!(choices.iter().any(|choice| choice["message"] != choices[0]["message"]), "{answer}");
    assert_eq!(answer["usage"]["completion_tokens"], 60);
    let computed = engine.metric("prefix_cache_queries_total") - engine.metric("prefix_cache_hits_total");
    let prompt = answer["usage"]["prompt_tokens"].as_f64().expect("a number");
    assert!((computed - (prompt + 9.0)).abs() < 0.5, "{computed} of {prompt}");
}

#[test]
fn probabilities_come_in_openais_shape() {
    let engine = Engine::start(&[]);
    let fields = json!({ "max_tokens": 4, "logprobs": true, "top_logprobs": 3, "ignore_eos": true });
    let answer = engine.ask("Hello", &fields);
    let content = answer["choices"][0]["logprobs"]["content"].as_array().expect("content");
    assert_eq!(content.len(), 4, "{answer}");
    let text: String = content.iter().filter_map(|token| token["token"].as_str()).collect();
    assert_eq!(answer["choices"][0]["message"]["content"], text);
    for token in content {
        assert_eq!(token["top_logprobs"].as_array().map(Vec::len), Some(3));
        assert_eq!(token["top_logprobs"][0]["logprob"], token["logprob"], "greedy takes the most probable");
        assert!(token["logprob"].as_f64().is_some_and(|logprob| logprob <= 0.0));
    }
}

#[test]
fn the_model_is_listed_under_its_served_name() {
    let engine = Engine::start(&["--context", "512"]);
    let list = engine.request("GET", "/v1/models", KEY, "").json();
    assert_eq!((&list["object"], &list["data"][0]["id"]), (&json!("list"), &json!("tiny")));
    assert_eq!(list["data"][0]["max_model_len"], 512);
}
