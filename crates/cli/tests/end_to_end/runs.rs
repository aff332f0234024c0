use overnight_testkit::engine::echo_of;
use serde_json::{Value, json};

use crate::support::{World, chat, chats, lines};

#[test]
fn every_shape_is_answered_in_its_own_form_and_in_order() {
    let world = World::new();
    let native = json!({"request_body": chat("native"), "metadata": {"row": 1}});
    let open_ai =
        json!({"custom_id": "two", "method": "POST", "url": "/v1/chat/completions", "body": chat("open")});
    world.write("prompts.jsonl", &format!("{native}\n{open_ai}\n{}\n", chat("bare")));
    let ran = world.run("run prompts.jsonl -o results.jsonl");
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""), "{ran:?}");
    assert!(ran.stderr.contains("3 of 3 completed"), "{ran:?}");
    assert!(!ran.stderr.contains(" INFO ") && world.path("data/run.log").exists(), "{ran:?}");
    let [first, second, third] = lines(&world.read("results.jsonl")).try_into().unwrap();
    assert_eq!((&first["metadata"], &first["status"]), (&json!({"row": 1}), &json!("completed")));
    assert!(first["result_body"].to_string().contains(&echo_of("native")), "{first}");
    assert_eq!((&second["custom_id"], &second["error"]), (&json!("two"), &Value::Null));
    assert_eq!(second["response"]["status_code"], 200);
    assert_eq!(second["response"]["body"]["object"], "chat.completion");
    assert_eq!(third["request_body"], chat("bare"));
}

#[test]
fn many_lines_are_written_in_their_order() {
    let world = World::new();
    world.write("prompts.jsonl", &chats(500));
    let summary = world.json("run prompts.jsonl -o results.jsonl");
    assert_eq!((&summary["lines"], &summary["completed"]), (&json!(500), &json!(500)));
    let asked: Vec<Value> =
        lines(&world.read("results.jsonl")).into_iter().map(|mut line| line["request_body"].take()).collect();
    assert_eq!(asked, lines(&chats(500)));
}

#[test]
fn answers_with_warnings_are_counted_at_the_end_whatever_the_shape_of_their_lines() {
    let world = World::new();
    let in_json = |content: &str| {
        let mut body = chat(content);
        body["response_format"] = json!({"type": "json_object"});
        body["max_tokens"] = json!(64);
        body
    };
    let open_ai = json!({"custom_id": "two", "body": in_json("open")});
    world.write("prompts.jsonl", &format!("{}\n{open_ai}\n{}\n", in_json("own"), chat("fine")));
    let ran = world.run("run prompts.jsonl -o results.jsonl");
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(
        ran.stderr.contains("2 have `warnings`: their engine ignored a field or answered oddly"),
        "{ran:?}"
    );
    let results = lines(&world.read("results.jsonl"));
    assert_eq!(results[0]["warnings"][0]["param"], "request_body.response_format");
    assert_eq!((results[1].get("warnings"), results[2].get("warnings")), (None, None));
    assert_eq!(world.json("run prompts.jsonl -o results.jsonl")["warned"], 2);
}

#[test]
fn lines_that_fail_or_are_refused_carry_the_error_and_are_asked_again() {
    let world = World::new();
    let broken = |content: &str| chat(&format!("[[sim:status=400 x1]] {content}"));
    let refused = json!({"model": "m", "messages": []});
    let line = |custom_id: &str, body: &Value| json!({"custom_id": custom_id, "body": body});
    let own = [broken("one"), chat("fine"), refused.clone()];
    let open_ai = [line("a", &broken("two")), line("b", &refused)];
    let text: String = own.iter().chain(&open_ai).map(|line| format!("{line}\n")).collect();
    world.write("prompts.jsonl", &text);
    let ran = world.run("run prompts.jsonl -o results.jsonl");
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.stderr.contains("1 of 5 completed, 2 failed, 2 refused"), "{ran:?}");
    let results = lines(&world.read("results.jsonl"));
    assert_eq!(
        (&results[0]["status"], &results[0]["result_body"]["error"]["code"]),
        (&json!("failed"), &json!("engine_rejected"))
    );
    assert_eq!((&results[2]["status"], &results[2]["id"]), (&json!("refused"), &Value::Null));
    assert_eq!((&results[2]["request_body"], &results[2]["metadata"]), (&refused, &json!({})));
    assert_eq!((&results[2]["completion_window"], &results[2]["webhook"]), (&json!("24h"), &Value::Null));
    assert_eq!(results[2]["result_body"]["error"]["details"][0]["param"], "request_body.messages");
    assert_eq!(
        (&results[3]["error"]["code"], &results[3]["response"]),
        (&json!("engine_rejected"), &Value::Null)
    );
    assert_eq!(
        (&results[4]["custom_id"], &results[4]["response"]["status_code"]),
        (&json!("b"), &json!(422))
    );

    let text = world
        .read("prompts.jsonl")
        .replace("\"messages\":[]", "\"messages\":[{\"role\":\"user\",\"content\":\"now\"}]");
    world.write("prompts.jsonl", &text);
    let ran = world.run("run prompts.jsonl -o results.jsonl");
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(world.engine.attempts_of("fine"), 1, "what was answered is not asked again");
    assert!(
        lines(&world.read("results.jsonl")).iter().all(|line| line.to_string().contains("chat.completion"))
    );
}

#[test]
fn a_run_uses_the_service_that_holds_the_folder() {
    let world = World::new();
    let _serving = world.serve();
    world.write("prompts.jsonl", &chats(20));
    assert_eq!(world.json("run prompts.jsonl -o results.jsonl")["completed"], 20);
    assert_eq!(world.stored_requests(), 20);
    assert_eq!(world.json("list batches")[0]["metadata"]["batch_name"], "prompts.jsonl");
}

#[test]
fn why_nothing_moves_is_told_once_for_each_reason_whoever_serves() {
    for is_served in [false, true] {
        let world = World::new();
        world.engine.tune(|engine| engine.models = vec!["another".to_owned()]);
        let _serving = is_served.then(|| world.serve());
        world.write("prompts.jsonl", &chats(3));
        let mut run = world.start("run prompts.jsonl -o results.jsonl");
        let mut told = Vec::new();
        let is_meant = |line: &String| {
            let of =
                "nothing moves: each request for `m` waits for the engines of its model, which are paused: ";
            line.starts_with(of) && line.contains("status 404: The model `m` does not exist.")
        };
        while !told.iter().any(is_meant) {
            told.push(run.error_line());
        }
        world.engine.tune(|engine| engine.models = vec!["m".to_owned()]);
        let ran = run.end();
        assert_eq!(ran.code, 0, "{told:?} {ran:?}");
        told.extend(ran.stderr.lines().map(|line| format!("{line}\n")));
        let mut reasons: Vec<_> = told.iter().filter(|line| line.starts_with("nothing moves: ")).collect();
        reasons.sort();
        let count = reasons.len();
        reasons.dedup();
        assert_eq!(reasons.len(), count, "{told:?}");
    }
}

#[test]
fn an_output_that_cannot_be_written_is_refused_before_anything_is_asked() {
    let world = World::new();
    world.write("prompts.jsonl", &chats(1));
    for line in
        ["run prompts.jsonl -o prompts.jsonl", "run prompts.jsonl -o .", "run prompts.jsonl -o no/out"]
    {
        assert_eq!(world.run(line).code, 2, "{line}");
    }
    assert!(world.engine.attempts().is_empty());
}

#[test]
fn progress_is_told_in_plain_lines_where_there_is_no_terminal() {
    let world = World::slow();
    world.engine.tune(|engine| engine.running_max = 4);
    world.write("prompts.jsonl", &chats(200));
    let ran = world.run("run prompts.jsonl -o results.jsonl");
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stderr.contains("waiting: ") && ran.stderr.contains(" of 200 ("), "{ran:?}");
    assert!(ran.stderr.contains("/s") && ran.stderr.contains(" left"), "{ran:?}");
    assert!(!ran.stderr.contains('\u{1b}') && !ran.stderr.contains('\r'), "{ran:?}");
    let ran = world.run("run prompts.jsonl -o results.jsonl --quiet");
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
}
