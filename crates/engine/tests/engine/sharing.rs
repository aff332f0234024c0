use std::{net::Shutdown, thread};

use serde_json::{Value, json};

use crate::support::{Engine, KEY, chat, message, poll};

const CHAT: &str = "/v1/chat/completions";

fn questions() -> Vec<String> {
    let document = "\u{1}".repeat(400);
    (0..8).map(|number| format!("{document} Question {number}: what is it about?")).collect()
}

fn usage(answer: &Value, name: &str) -> u64 {
    answer["usage"][name].as_u64().expect("a number")
}

#[test]
fn eight_together_with_a_shared_prefix_compute_it_once() {
    let fields = json!({ "max_tokens": 8, "ignore_eos": true });
    let together = Engine::start(&[]);
    let answers: Vec<Value> = thread::scope(|scope| {
        let ask = |question: &String| together.ask(question, &fields);
        let asking: Vec<_> =
            questions().into_iter().map(|question| scope.spawn(move || ask(&question))).collect();
        asking.into_iter().map(|asked| asked.join().expect("an answer")).collect()
    });
    let alone = Engine::start(&["--parallel", "1"]);
    for (question, answer) in questions().iter().zip(&answers) {
        let expected = alone.ask(question, &fields);
        for name in ["prompt_tokens", "completion_tokens", "total_tokens"] {
            assert_eq!(usage(answer, name), usage(&expected, name), "{name}");
        }
        assert_eq!(answer["choices"][0]["finish_reason"], "length");
    }
    let first_without = |answer: &&Value| answer["usage"]["prompt_tokens_details"]["cached_tokens"] == 0;
    assert_eq!(answers.iter().filter(first_without).count(), 1, "only one computes the document");
    let computed = together.metric("prefix_cache_queries_total") - together.metric("prefix_cache_hits_total");
    assert!(computed < 400.0 + 8.0 * 60.0, "{computed} prompt tokens were computed");
}

#[test]
fn a_prefix_outlives_its_request() {
    let engine = Engine::start(&[]);
    let cached = |question: &String| {
        let answer = engine.ask(question, &json!({ "max_tokens": 2 }));
        answer["usage"]["prompt_tokens_details"]["cached_tokens"].as_u64().expect("a number")
    };
    let cached: Vec<u64> = questions().iter().map(cached).collect();
    assert_eq!(cached[0], 0);
    assert!(cached[1..].iter().all(|cached| *cached > 400), "{cached:?}");
}

#[test]
fn a_prefix_is_shared_only_among_requests_with_the_same_salt() {
    let engine = Engine::start(&[]);
    let cached = |salt: Value| {
        let answer = engine.ask(&questions()[0], &json!({ "max_tokens": 2, "cache_salt": salt }));
        answer["usage"]["prompt_tokens_details"]["cached_tokens"].as_u64().expect("a number")
    };
    // The sequence that ended last is kept.
    let [first, again, other] = ["one", "one", "other"].map(|salt| cached(json!(salt)));
    assert_eq!((first, other, cached(Value::Null)), (0, 0, 0));
    assert!(again > 400, "{again}");
    let refused = engine.post(&chat("Hello", &json!({ "cache_salt": "" })));
    assert_eq!(refused.status, 400, "{}", refused.head);
}

#[test]
fn a_dropped_connection_cancels_its_sequences() {
    let engine = Engine::start(&[]);
    let send = |choices: usize| {
        let endless = chat("Count.", &json!({ "max_tokens": 4_000, "n": choices, "ignore_eos": true }));
        engine.send(&message("POST", CHAT, KEY, &endless))
    };
    // A request that the engine has not read yet would not be an abort.
    let come = || engine.metric("num_requests_running") + engine.metric("num_requests_waiting");
    let mut streams = vec![send(1), send(1)];
    assert!(poll(|| come() > 1.5), "two did not come");
    streams.push(send(16));
    assert!(poll(|| come() > 2.5), "not all came");
    for stream in streams {
        stream.shutdown(Shutdown::Both).expect("a connection that ends");
    }
    assert!(poll(|| engine.metric("num_requests_running") + engine.metric("num_requests_waiting") < 0.5));
    assert!((engine.metric("reason=\"abort\"") - 3.0).abs() < 0.5);
    assert!(engine.metric("kv_cache_usage_perc") < f64::EPSILON);
    assert_eq!(usage(&engine.ask("Still there?", &json!({ "max_tokens": 1 })), "completion_tokens"), 1);
}

#[test]
fn more_requests_than_run_at_once_wait_their_turn() {
    let engine = Engine::start(&["--parallel", "2", "--context", "128"]);
    let fields = json!({ "max_tokens": 20, "ignore_eos": true });
    thread::scope(|scope| {
        let ask = |number: usize| usage(&engine.ask(&format!("{number}?"), &fields), "completion_tokens");
        let asking: Vec<_> = (0..40).map(|number| scope.spawn(move || ask(number))).collect();
        asking.into_iter().for_each(|asked| assert_eq!(asked.join().expect("an answer"), 20));
    });
}

#[test]
fn one_request_too_many_is_told_to_come_again() {
    let engine = Engine::start(&["--parallel", "1"]);
    let endless = chat("Count.", &json!({ "max_tokens": 4_000, "n": 128, "ignore_eos": true }));
    let held: Vec<_> = (0..256).map(|_| engine.send(&message("POST", CHAT, KEY, &endless))).collect();
    let is_full = || engine.metric("num_requests_running") + engine.metric("num_requests_waiting") > 255.5;
    assert!(poll(is_full), "the engine was never full");
    let refused = engine.post(&chat("Me too.", &json!({})));
    assert_eq!((refused.error().0, refused.error().1.as_str()), (503, "engine_full"));
    assert!(refused.head.contains("retry-after: 1"), "{}", refused.head);
    drop(held);
    assert!(poll(|| engine.post(&chat("Me too.", &json!({ "max_tokens": 1 }))).status == 200));
}
