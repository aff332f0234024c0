use super::*;

#[test]
fn nothing_is_traced_without_a_collector_and_everything_with_one() {
    assert_eq!(load_text("").unwrap().traces, None);
    let traces = load_text("[traces]\nendpoint = \"http://c:4318/otlp/\"").unwrap().traces.unwrap();
    assert_eq!((traces.endpoint.as_str(), traces.sample.millionths()), ("http://c:4318/otlp", 1_000_000));
    assert_eq!(
        (traces.caller_traces_per_minute, &*traces.service_name, traces.headers_env),
        (600, "overnight", None)
    );
    let text =
        "[traces]\nendpoint = \"https://c\"\nsample = \"0.5%\"\nheaders_env = \"OTEL_EXPORTER_OTLP_HEADERS\"";
    let traces = load_text(text).unwrap().traces.unwrap();
    assert_eq!(traces.sample.millionths(), 5_000);
    assert_eq!(traces.headers_env.as_deref(), Some("OTEL_EXPORTER_OTLP_HEADERS"));
}

#[test]
fn traces_that_cannot_be_sent_are_refused_by_name() {
    check_table(
        "[traces]\n",
        r#"
        endpoint = "c:4318" => `traces.endpoint` must be an http or https address | line 2
        sample = "0.5" => `traces.sample` must be a percentage like "100%" | line 2
        sample = "101%" => `traces.sample` must be a percentage | line 2
        caller_traces_per_minute = -1 => `traces.caller_traces_per_minute` must be an integer from 0 | line 2
        service_name = "" => `traces.service_name` must be a name of 1 to 255 characters | line 2
        headers_env = "OVERNIGHT_HEADERS" => `traces.headers_env` must be the name of an environment | line 2
        headers_env = "HEADERS" => `traces.headers_env` is set, and `traces.endpoint` is missing | line 2
        "#,
    );
}
