use super::*;

const TWO: &str = r#"
[[models]]
name = "a"
[[models]]
name = "b"
[[engines]]
name = "e"
kind = "openai"
base_url = "http://10.0.0.1:8000/v1"
models = { "a" = "theirs", "b" = "b" }
one_model_at_a_time = true
"#;

#[test]
fn an_engine_that_holds_one_model_is_a_replica_for_each_and_they_share_a_device() {
    let config = load_text(&format!("{TWO}time_slice = \"5m\"\nmax_concurrency = 7\n")).unwrap();
    let engine = &config.engines[0];
    let EngineKind::OpenAi(openai) = &engine.kind else { panic!("not openai") };
    let turns = ModelTurns { start_timeout: Millis(15 * 60_000), time_slice: Millis(300_000) };
    assert_eq!(openai.turns, Some(turns));
    let replicas = engine.of_each_model();
    let seen: Vec<_> = replicas.iter().map(|it| (&*it.name, it.models.clone())).collect();
    let served = |ours: &str, theirs: &str| [(ours.to_owned(), theirs.to_owned())].into();
    assert_eq!(seen, [("e/a", served("a", "theirs")), ("e/b", served("b", "b"))]);
    for replica in &replicas {
        assert_eq!(replica.device(), Some(("http://10.0.0.1:8000/v1", Millis(300_000))));
        assert_eq!((replica.max_concurrency, replica.shared_name()), (7, engine.shared_name()));
        assert_eq!(config.engine_of(&replica.name), Some(engine));
    }
}

#[test]
fn other_engines_are_one_replica_without_a_device() {
    for text in [TWO.replace("= true", "= false"), TWO.replace("one_model_at_a_time = true", "")] {
        let engine = &load_text(&text).unwrap().engines[0];
        assert!(!engine.holds_one_model() && engine.device().is_none());
        assert_eq!(engine.of_each_model(), std::slice::from_ref(engine));
    }
}

#[test]
fn settings_that_models_cannot_share_are_refused_beside_it() {
    check_table(
        &TWO.replace("10.0.0.1", "pool"),
        r#"
        discovery = "dns" => `engines[0].one_model_at_a_time` cannot be combined with `discovery`
        max_concurrency = 8 ; colocated_share = "50%" => `engines[0].one_model_at_a_time` cannot be combined with `colocated_share`
        max_requests_per_minute = 1 => `engines[0].one_model_at_a_time` cannot be combined with `max_requests_per_minute`
        max_tokens_per_minute = 1 => `engines[0].one_model_at_a_time` cannot be combined with `max_tokens_per_minute`
        max_requests_per_day = 1 => `engines[0].one_model_at_a_time` cannot be combined with `max_requests_per_day`
        max_tokens_per_day = 1 => `engines[0].one_model_at_a_time` cannot be combined with `max_tokens_per_day`
        time_slice = "59s" => must be 1m to 24h
        start_timeout = "25h" => must be 1s to 24h
        idle_stop = "1m" => is a setting of engines with kind = "command"
        "#,
    );
    check_table(
        &TWO.replace("one_model_at_a_time = true", ""),
        r#"
        start_timeout = "1m" => needs `one_model_at_a_time = true`, or kind = "command"
        time_slice = "1m" => needs `one_model_at_a_time = true`, or kind = "command"
        "#,
    );
}

#[test]
fn each_replica_has_a_name_of_its_own() {
    let other = "[[engines]]\nname = \"e/b\"\nkind = \"openai\"\nbase_url = \"http://h\"\n";
    check_refused(&format!("{TWO}{other}"), &["gives two replicas the name \"e/b\""]);
}
