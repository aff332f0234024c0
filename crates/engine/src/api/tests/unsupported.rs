use super::{body, check_refused, read, refusal};

#[test]
fn a_field_that_the_engine_would_have_to_act_on_is_refused_by_name() {
    for (name, value) in [
        ("grammar", r#""root ::= \"a\"""#),
        ("ebnf", r#""root ::= x""#),
        ("bad_words", r#"["a"]"#),
        ("truncate_prompt_tokens", "5"),
        ("continue_final_message", "true"),
        ("dry_multiplier", "0.8"),
        ("typical_p", "0.9"),
        ("mirostat", "2"),
        ("xtc_probability", "0.5"),
        ("n_predict", "10"),
        ("skip_special_tokens", "false"),
        ("modalities", r#"["text","audio"]"#),
        ("functions", r#"[{"name":"f"}]"#),
        ("best_of", "2"),
    ] {
        let fields = format!(r#","{name}":{value}"#);
        check_refused(&fields, name);
        assert_eq!(refusal(&body(&fields)).code, Some("unsupported_parameter"));
    }
}

#[test]
fn a_value_that_changes_nothing_is_taken() {
    read(
        r#","dry_multiplier":0,"dry_base":1.75,"mirostat":0,"mirostat_tau":5.0,"typical_p":1,"typ_p":1.0,
        "xtc_probability":0.0,"xtc_threshold":0.1,"dynatemp_range":0,"continue_final_message":false,
        "add_generation_prompt":true,"best_of":1,"use_beam_search":false,"length_penalty":1.0,"grammar":"",
        "ebnf":null,"bad_words":[],"functions":[],"modalities":["text"],"n_predict":-1,"repeat_last_n":64,
        "skip_special_tokens":true,"truncate_prompt_tokens":null,"echo":false"#,
    );
}

#[test]
fn fields_that_do_not_touch_the_answer_and_unknown_ones_are_taken() {
    read(
        r#","user":"u","metadata":{"a":"b"},"store":true,"service_tier":"auto","cache_salt":"s","priority":3,
        "safety_identifier":"x","prompt_cache_key":"k","stream":false,"stream_options":{"include_usage":true},
        "cache_prompt":true,"id_slot":2,"request_id":"r","parallel_tool_calls":false,"reasoning_effort":"low",
        "verbosity":"low","prediction":{"type":"content","content":"x"},"a_field_of_nobody":1"#,
    );
}

#[test]
fn a_penalty_over_a_window_is_refused() {
    check_refused(r#","repeat_penalty":1.1,"repeat_last_n":64"#, "repeat_last_n");
    read(r#","repeat_penalty":1.1,"repeat_last_n":-1"#);
    read(r#","repeat_penalty":1.0,"repeat_last_n":64"#);
}
