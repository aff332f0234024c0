use super::{accept, faults_of, parse, with};
use crate::limits::Limits;

fn of_tools(tools: &str) -> Vec<String> {
    faults_of(&with(&format!("\"tools\":{tools}")))
}

#[test]
fn only_tools_that_the_client_runs_are_passed_on() {
    for taken in [
        "null",
        "[]",
        r#"[{"type":"function","function":{"name":"a$b","parameters":{}}},{"type":"custom","custom":{"name":"c"}}]"#,
    ] {
        accept(&with(&format!("\"tools\":{taken}")));
    }
    for kind in
        ["browser_search", "code_interpreter", "mcp", "web_search", "openrouter:web_search", "Function", ""]
    {
        let faults =
            of_tools(&format!(r#"[{{"type":"function"}},{{"type":"{kind}","server_url":"http://x"}}]"#));
        assert_eq!(faults, ["request_body.tools[1].type not_allowed"], "{kind}");
    }
    for (tools, fault) in [
        (r#"{"type":"mcp"}"#, "request_body.tools wrong_type"),
        (r#""web_search""#, "request_body.tools wrong_type"),
        (r#"["web_search"]"#, "request_body.tools[0] wrong_type"),
        ("[{}]", "request_body.tools[0].type missing"),
        (r#"[{"type":["mcp"]}]"#, "request_body.tools[0].type wrong_type"),
        (r#"[{"type":"function","function":"a"}]"#, "request_body.tools[0].function wrong_type"),
        (r#"[{"type":"function","Type":"mcp"}]"#, "request_body.tools[0].Type not_allowed"),
        (r#"[{"type":"function","type":"mcp"}]"#, "request_body.tools[0].type duplicate_key"),
    ] {
        assert_eq!(of_tools(tools), [fault], "{tools}");
    }
}

#[test]
fn a_name_of_a_tool_that_an_engine_runs_is_refused() {
    for (tool, path) in [
        (r#"{"type":"function","function":{"name":"$web_search"}}"#, "function.name"),
        (r#"{"type":"custom","custom":{"name":"\u0024web_search"}}"#, "custom.name"),
        (r#"{"type":"function","name":"$web_search"}"#, "name"),
        (r#"{"type":"function","function":{"Name":"$web_search"}}"#, "function.Name"),
    ] {
        assert_eq!(of_tools(&format!("[{tool}]")), [format!("request_body.tools[0].{path} not_allowed")]);
    }
}

#[test]
fn fields_that_buy_searches_are_refused_unless_the_operator_allows_them() {
    for name in
        ["compound_custom", "enable_search", "mcp_servers", "search_parameters", "search_settings", "audio"]
    {
        let body = with(&format!("\"{name}\":{{}}"));
        assert_eq!(faults_of(&body), [format!("request_body.{name} not_allowed")]);
        let limits = Limits { allow_fields: vec![name.to_owned()], ..Limits::default() };
        assert!(parse(&body, &limits).is_ok(), "{name}");
    }
}

#[test]
fn output_is_text_unless_the_operator_allows_other_modalities() {
    for text in ["null", "[]", r#"["text"]"#] {
        accept(&with(&format!("\"modalities\":{text}")));
    }
    for other in [r#"["text","audio"]"#, r#"["image"]"#, r#""audio""#] {
        let body = with(&format!("\"modalities\":{other}"));
        assert_eq!(faults_of(&body), ["request_body.modalities not_allowed"]);
        let limits = Limits { allow_fields: vec!["modalities".to_owned()], ..Limits::default() };
        assert!(parse(&body, &limits).is_ok());
    }
    assert_eq!(faults_of(&with(r#""Modalities":["audio"]"#)), ["request_body.Modalities not_allowed"]);
}
